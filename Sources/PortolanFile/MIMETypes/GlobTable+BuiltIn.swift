// SPDX-License-Identifier: Apache-2.0

extension GlobTable {
    /// The most common types, for a system without MIME type tables.
    ///
    /// IANA media types registry; WHATWG MIME Sniffing §4.6 for the types of the web
    static func makeBuiltIn() -> GlobTable {
        var table = GlobTable()
        table.add(mimeTypes: Array(builtInText.utf8))
        return table
    }

    private static let builtInText = """
        text/html html htm
        text/css css
        text/javascript js mjs
        text/plain txt text log
        text/markdown md markdown
        text/csv csv
        text/tab-separated-values tsv
        text/calendar ics
        text/vcard vcf
        text/vtt vtt
        application/json json
        application/ld+json jsonld
        application/manifest+json webmanifest
        application/xml xml
        application/xhtml+xml xhtml
        application/rss+xml rss
        application/atom+xml atom
        application/yaml yaml yml
        application/toml toml
        application/wasm wasm
        application/pdf pdf
        application/postscript ps
        application/rtf rtf
        application/epub+zip epub
        application/sql sql
        application/zip zip
        application/gzip gz
        application/x-compressed-tar tar.gz tgz
        application/x-bzip2 bz2
        application/x-bzip2-compressed-tar tar.bz2
        application/x-xz xz
        application/x-xz-compressed-tar tar.xz
        application/zstd zst
        application/x-tar tar
        application/x-7z-compressed 7z
        application/vnd.rar rar
        application/java-archive jar
        application/vnd.sqlite3 sqlite
        application/msword doc
        application/vnd.ms-excel xls
        application/vnd.ms-powerpoint ppt
        application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
        application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
        application/vnd.oasis.opendocument.text odt
        application/vnd.oasis.opendocument.spreadsheet ods
        application/vnd.oasis.opendocument.presentation odp
        image/png png
        image/jpeg jpg jpeg
        image/gif gif
        image/webp webp
        image/avif avif
        image/svg+xml svg
        image/bmp bmp
        image/tiff tif tiff
        image/x-icon ico
        font/woff woff
        font/woff2 woff2
        font/ttf ttf
        font/otf otf
        audio/mpeg mp3
        audio/ogg ogg oga
        audio/flac flac
        audio/wav wav
        audio/aac aac
        audio/mp4 m4a
        video/mp4 mp4
        video/webm webm
        video/ogg ogv
        video/quicktime mov
        video/x-matroska mkv
        """
}
