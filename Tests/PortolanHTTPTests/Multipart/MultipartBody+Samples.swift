// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension MultipartBody {
    private static let plain: (type: String?, data: String) = ("text/plain", "one")

    static let samples: [MultipartBody] = [
        MultipartBody("one part", "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b--\r\n", [plain]),
        MultipartBody(
            "two parts", "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\nContent-Type: image/png\r\n\r\ntwo\r\n--b--\r\n",
            [plain, ("image/png", "two")]),
        MultipartBody("a quoted boundary with a space", boundary: "\"a b\"", "--a b\r\n\r\none\r\n--a b--", [(nil, "one")]),
        MultipartBody("line feeds only", "--b\nContent-Type: text/plain\n\none\n--b\n\ntwo\n--b--\n", [plain, (nil, "two")]),
        MultipartBody("mixed line ends", "--b\r\nContent-Type: text/plain\n\r\none\n--b\n\ntwo\r\n--b--", [plain, (nil, "two")]),
        MultipartBody("no fields", "--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("no data", "--b\r\n\r\n\r\n--b--", [(nil, "")]),
        MultipartBody("no data, and only the delimiter's line break", "--b\r\nContent-Type: text/plain\r\n\r\n--b--", [("text/plain", "")]),
        MultipartBody("preamble", "This is\r\n--a\r\nmultipart.\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("an empty line before the first delimiter", "\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("preamble with the boundary inside a line", "x--b\r\n\r\n\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("epilogue", "--b\r\n\r\none\r\n--b--\r\nrest\r\n--b\r\n\r\ntwo\r\n--b--", [(nil, "one")]),
        MultipartBody("blanks after the boundary", "--b \t\r\n\r\none\r\n--b  \r\n\r\ntwo\r\n--b-- ", [(nil, "one"), (nil, "two")]),
        MultipartBody(
            "one hyphen after the boundary", "--b\r\n\r\none\r\n--b-\r\n\r\ntwo\r\n--b-x-\r\n\r\n",
            [(nil, "one"), (nil, "two"), (nil, "")]),
        MultipartBody("no closing delimiter", "--b\r\n\r\none\r\n--b\r\n\r\ntwo", [(nil, "one"), (nil, "two")]),
        MultipartBody("ends after the first characters of a delimiter", "--b\r\n\r\none\r\n--", [(nil, "one\r\n--")]),
        MultipartBody("ends in a line break", "--b\r\n\r\none\r\n", [(nil, "one\r\n")]),
        MultipartBody("ends in a carriage return", "--b\r\n\r\none\r", [(nil, "one\r")]),
        MultipartBody("ends within the head of a part", "--b\r\n\r\none\r\n--b\r\nContent-Type: te", [(nil, "one")]),
        MultipartBody("ends within the line of a delimiter", "--b\r\n\r\none\r\n--b", [(nil, "one")]),
        MultipartBody(
            "data that looks almost like delimiters", "--b\r\n\r\n\r\r\n\n-\r\n--\r\n--a\r\n\r\n-b\r\n--b--",
            [(nil, "\r\r\n\n-\r\n--\r\n--a\r\n\r\n-b")]),
        MultipartBody("data that starts almost like a delimiter", "--b\r\n\r\n--a\r\n--b--", [(nil, "--a")]),
        MultipartBody("a delimiter after an incomplete one", "--b\r\n\r\none\r\n--\r\n--b--", [(nil, "one\r\n--")]),
        MultipartBody("data that ends with a line break", "--b\r\n\r\none\r\n\r\n--b\r\n\r\n\n\n--b--", [(nil, "one\r\n"), (nil, "\n")]),
        MultipartBody("data that ends with a carriage return", "--b\r\n\r\none\r\r\n--b--", [(nil, "one\r")]),
        MultipartBody("boundary inside a line", "--b\r\n\r\none --b two\r\n--b--", [(nil, "one --b two")]),
        MultipartBody("a boundary that starts with hyphens", boundary: "--b", "----b\r\n\r\none\r\n----b--", [(nil, "one")]),
        MultipartBody(
            "a delimiter that omits the boundary's hyphens", boundary: "--b", "--b\r\n\r\none\r\n----b\r\n--b--", [(nil, "one\r\n----b")]),
        MultipartBody("a boundary of hyphens only", boundary: "--", "----\r\n\r\none\r\n------", [(nil, "one")]),
        MultipartBody("a correct Content-Length", "--b\r\nContent-Length: 3\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "a Content-Length, and no line break after the data",
            "--b\r\nContent-Length: 3\r\n\r\none--b\r\nContent-Length: 3\r\n\r\ntwo--b--",
            [(nil, "one"), (nil, "two")]),
        MultipartBody("a Content-Length of 0", "--b\r\nContent-Length: 0\r\n\r\n--b--", [(nil, "")]),
        MultipartBody("a Content-Length that includes the line break", "--b\r\nContent-Length: 5\r\n\r\none\r\n--b--", [(nil, "one\r\n")]),
        MultipartBody(
            "a Content-Length that includes the carriage return", "--b\r\nContent-Length: 4\r\n\r\none\r\n--b--", [(nil, "one\r")]),
        MultipartBody("a Content-Length that is too small", "--b\r\nContent-Length: 2\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "a Content-Length that is too large", "--b\r\nContent-Length: 9\r\n\r\none\r\n--b\r\n\r\ntwo", [(nil, "one"), (nil, "two")]),
        MultipartBody("a Content-Length that ends within the delimiter", "--b\r\nContent-Length: 7\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "a Content-Length that overflows Int64", "--b\r\nContent-Length: 99999999999999999999\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("a Content-Length below zero", "--b\r\nContent-Length: -1\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("the largest Content-Length", "--b\r\nContent-Length: 9223372036854775807\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "malformed and continued field lines",
            "--b\r\nx\r\n: y\r\n y\r\nContent-Type:\r\n\ttext/plain\r\nb c: d\r\n continued\r\n\r\none", [plain]),
        MultipartBody(
            "a multipart inside", "--b\r\nContent-Type: multipart/x-mixed-replace;boundary=c\r\n\r\n--c\r\n\r\n1\r\n--c--\r\n--b--",
            [("multipart/x-mixed-replace;boundary=c", "--c\r\n\r\n1\r\n--c--")]),
        MultipartBody("no bytes", "", [], .badResponse),
        MultipartBody("no part", "--b--", [], .badResponse),
        MultipartBody("no boundary", "one\r\ntwo\r\n", [], .badResponse),
        MultipartBody("an incomplete head", "--b\r\nContent-Type: text/plain\r\n", [], .badResponse),
    ]
}
