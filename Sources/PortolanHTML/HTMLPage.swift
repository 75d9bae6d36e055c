// SPDX-License-Identifier: Apache-2.0

/// A self-contained page without network requests or scripts, in light and dark colors.
package enum HTMLPage {
    /// - Parameters:
    ///   - style: CSS rules of this page, in addition to the rules of every page.
    ///   - body: The content as markup.
    package static func text(title: String, style: String = "", body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>\(HTMLEscaping.escaped(title))</title>
        <style>
        \(baseStyle)
        \(style)
        </style>
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// The colors have a contrast of at least 4.5 to their background (WCAG 2, 1.4.3). Color is never the only sign.
    private static let baseStyle = """
        :root { color-scheme: light dark; --text: #1f2328; --page: #ffffff; --panel: #f6f8fa; --line: #d1d9e0; --dim: #59636e;
          --good: #1a7f37; --bad: #cf222e; --odd: #8a5d00; --link: #0550ae; --on: #ffffff; }
        @media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --page: #0d1117; --panel: #161b22; --line: #30363d; --dim: #9aa4ae;
          --good: #3fb950; --bad: #ff7b72; --odd: #d29922; --link: #79c0ff; --on: #0d1117; } }
        * { box-sizing: border-box; }
        body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 66rem; margin: 2rem auto;
          padding: 0 1rem; overflow-wrap: anywhere; }
        h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
        p { margin: .4rem 0; } a { color: var(--link); } nav a { margin-right: 1rem; }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
        .badge { font-size: .9rem; font-weight: 600; padding: .1em .6em; border-radius: 1em; color: var(--on); vertical-align: middle; }
        .badge.passed { background: var(--good); } .badge.failed { background: var(--bad); }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; } caption { text-align: left; color: var(--dim); padding-bottom: .3rem; }
        th, td { padding: .25rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: normal; }
        thead th { font-weight: 600; color: var(--dim); } .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal; }
        details { border: 1px solid var(--line); border-left-width: .3rem; border-radius: .3rem; margin: .5rem 0; padding: .3rem .8rem; }
        details[open] { padding-bottom: .7rem; } summary { cursor: pointer; }
        dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0; } dt { font-weight: 600; color: var(--dim); } dd { margin: 0; }
        pre, code { font: 13px/1.45 ui-monospace, monospace; } pre { background: var(--panel); padding: .6rem .8rem; overflow-x: auto; }
        figure { margin: .8rem 0 0; } figcaption, .note { color: var(--dim); font-size: .9rem; }
        .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; margin: .3rem 0; font-size: .85rem; color: var(--dim); }
        svg { font: 11px ui-monospace, monospace; } svg text { fill: var(--text); } svg .axis, svg .axis text { stroke: none; fill: var(--dim); }
        svg .grid { stroke: var(--line); }
        .offscreen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        """
}
