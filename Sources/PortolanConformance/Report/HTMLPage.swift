// SPDX-License-Identifier: Apache-2.0

/// A self-contained page without network requests or scripts.
package enum HTMLPage {
    /// - Parameter body: The content as markup.
    package static func text(title: String, body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>\(HTMLEscaping.escaped(title))</title>
        <style>
        \(style)
        </style>
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    private static let style = """
        :root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --odd: #9a6700; --dim: #6e7781; }
        body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
        h1 span { font-size: .6em; padding: .1em .5em; border-radius: .4em; color: #fff; }
        h1 .passed { background: var(--good); } h1 .failed { background: var(--bad); }
        table { border-collapse: collapse; } th, td { padding: .1rem .8rem; text-align: right; } tbody th { text-align: left; }
        td.passed { color: var(--good); } td.failed, td.crashed, td.hung { color: var(--bad); font-weight: bold; }
        td.warned { color: var(--odd); } td.skipped { color: var(--dim); }
        details { border-left: .3rem solid var(--dim); margin: .4rem 0; padding: .1rem .8rem; }
        details.passed { border-color: var(--good); } details.warned { border-color: var(--odd); }
        details.failed, details.crashed, details.hung { border-color: var(--bad); }
        summary { cursor: pointer; } summary b { display: inline-block; min-width: 5.5rem; }
        dt { font-weight: bold; float: left; clear: left; width: 4rem; } dd { margin: 0 0 .2rem 4.5rem; }
        pre, code { font: 13px/1.4 ui-monospace, monospace; overflow-x: auto; }
        figure { margin: .6rem 0; } figcaption { color: var(--dim); }
        svg { width: 100%; font: 11px ui-monospace, monospace; } svg text { fill: currentColor; }
        .lane { stroke: var(--dim); } circle.in { fill: var(--good); } circle.out { fill: var(--dim); } circle.call { fill: var(--odd); }
        """
}
