// SPDX-License-Identifier: Apache-2.0

import PortolanCore

extension MultipartBody {
    private static let plain: (type: String?, data: String) = ("text/plain", "one")

    static let samples: [MultipartBody] = [
        MultipartBody("one part", "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b--\r\n", [plain]),
        MultipartBody(
            "two parts", "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\nContent-Type: image/png\r\n\r\ntwo\r\n--b--\r\n",
            [plain, ("image/png", "two")]),
        MultipartBody("quoted", boundary: "\"a b\"", "--a b\r\n\r\none\r\n--a b--", [(nil, "one")]),
        MultipartBody("line feeds only", "--b\nContent-Type: text/plain\n\none\n--b\n\ntwo\n--b--\n", [plain, (nil, "two")]),
        MultipartBody("mixed line ends", "--b\r\nContent-Type: text/plain\n\r\none\n--b\n\ntwo\r\n--b--", [plain, (nil, "two")]),
        MultipartBody("no fields", "--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("no data", "--b\r\n\r\n\r\n--b--", [(nil, "")]),
        MultipartBody("no data and no line break of its own", "--b\r\nContent-Type: text/plain\r\n\r\n--b--", [("text/plain", "")]),
        MultipartBody("preamble", "This is\r\n--a\r\nmultipart.\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("empty line before", "\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("preamble with the boundary inside a line", "x--b\r\n\r\n\r\n--b\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("epilogue", "--b\r\n\r\none\r\n--b--\r\nrest\r\n--b\r\n\r\ntwo\r\n--b--", [(nil, "one")]),
        MultipartBody("blanks behind the boundary", "--b \t\r\n\r\none\r\n--b  \r\n\r\ntwo\r\n--b-- ", [(nil, "one"), (nil, "two")]),
        MultipartBody(
            "one hyphen behind the boundary", "--b\r\n\r\none\r\n--b-\r\n\r\ntwo\r\n--b-x-\r\n\r\n",
            [(nil, "one"), (nil, "two"), (nil, "")]),
        MultipartBody("no closing delimiter", "--b\r\n\r\none\r\n--b\r\n\r\ntwo", [(nil, "one"), (nil, "two")]),
        MultipartBody("ends in a delimiter's start", "--b\r\n\r\none\r\n--", [(nil, "one\r\n--")]),
        MultipartBody("ends in a line break", "--b\r\n\r\none\r\n", [(nil, "one\r\n")]),
        MultipartBody("ends in a carriage return", "--b\r\n\r\none\r", [(nil, "one\r")]),
        MultipartBody("ends in a head", "--b\r\n\r\none\r\n--b\r\nContent-Type: te", [(nil, "one")]),
        MultipartBody("ends in a delimiter's line", "--b\r\n\r\none\r\n--b", [(nil, "one")]),
        MultipartBody(
            "nearly delimiters", "--b\r\n\r\n\r\r\n\n-\r\n--\r\n--a\r\n\r\n-b\r\n--b--", [(nil, "\r\r\n\n-\r\n--\r\n--a\r\n\r\n-b")]),
        MultipartBody("nearly a delimiter at the start", "--b\r\n\r\n--a\r\n--b--", [(nil, "--a")]),
        MultipartBody("a delimiter after a broken one", "--b\r\n\r\none\r\n--\r\n--b--", [(nil, "one\r\n--")]),
        MultipartBody("the data's own line break", "--b\r\n\r\none\r\n\r\n--b\r\n\r\n\n\n--b--", [(nil, "one\r\n"), (nil, "\n")]),
        MultipartBody("a return before the line break", "--b\r\n\r\none\r\r\n--b--", [(nil, "one\r")]),
        MultipartBody("boundary inside a line", "--b\r\n\r\none --b two\r\n--b--", [(nil, "one --b two")]),
        MultipartBody("hyphens of the boundary's own", boundary: "--b", "----b\r\n\r\none\r\n----b--", [(nil, "one")]),
        MultipartBody(
            "hyphens taken for the delimiter's", boundary: "--b", "--b\r\n\r\none\r\n----b\r\n--b--", [(nil, "one\r\n----b")]),
        MultipartBody("nothing but hyphens", boundary: "--", "----\r\n\r\none\r\n------", [(nil, "one")]),
        MultipartBody("length", "--b\r\nContent-Length: 3\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "length, no line break", "--b\r\nContent-Length: 3\r\n\r\none--b\r\nContent-Length: 3\r\n\r\ntwo--b--",
            [(nil, "one"), (nil, "two")]),
        MultipartBody("length of nothing", "--b\r\nContent-Length: 0\r\n\r\n--b--", [(nil, "")]),
        MultipartBody("length with the line break", "--b\r\nContent-Length: 5\r\n\r\none\r\n--b--", [(nil, "one\r\n")]),
        MultipartBody("length with its first byte", "--b\r\nContent-Length: 4\r\n\r\none\r\n--b--", [(nil, "one\r")]),
        MultipartBody("length that is too small", "--b\r\nContent-Length: 2\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("length that is too large", "--b\r\nContent-Length: 9\r\n\r\none\r\n--b\r\n\r\ntwo", [(nil, "one"), (nil, "two")]),
        MultipartBody("length into the delimiter", "--b\r\nContent-Length: 7\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("length beyond numbers", "--b\r\nContent-Length: 99999999999999999999\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("length below zero", "--b\r\nContent-Length: -1\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody("largest length", "--b\r\nContent-Length: 9223372036854775807\r\n\r\none\r\n--b--", [(nil, "one")]),
        MultipartBody(
            "strange lines", "--b\r\nx\r\n: y\r\n y\r\nContent-Type:\r\n\ttext/plain\r\nb c: d\r\n continued\r\n\r\none", [plain]),
        MultipartBody(
            "a multipart inside", "--b\r\nContent-Type: multipart/x-mixed-replace;boundary=c\r\n\r\n--c\r\n\r\n1\r\n--c--\r\n--b--",
            [("multipart/x-mixed-replace;boundary=c", "--c\r\n\r\n1\r\n--c--")]),
        MultipartBody("no bytes", "", [], .badResponse),
        MultipartBody("no part", "--b--", [], .badResponse),
        MultipartBody("no boundary", "one\r\ntwo\r\n", [], .badResponse),
        MultipartBody("no whole head", "--b\r\nContent-Type: text/plain\r\n", [], .badResponse),
    ]
}
