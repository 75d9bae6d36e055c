// SPDX-License-Identifier: Apache-2.0

// What the examples of the pages take from the text around them. scripts/examples.py compiles it with them.

import Foundation
import Portolan

struct Tokens {
    func current() async throws -> String { "" }
}

struct Parser {
    func parse(_ bytes: [UInt8]) {}
    func finish() {}
    func fail(_ error: any Error) {}
}

struct Item: Encodable {}

func askUser() async -> String { "" }
func timestamp() async throws -> String { "" }
func signature(of text: String) -> String { text }

let tokens = Tokens()
let parser = Parser()
let item = Item()
let key = ""
let file = URL(filePath: "recording.har")
var body: Data { Data() }
var response: Response { fatalError("This is compiled and never run.") }
var request: Request { fatalError("This is compiled and never run.") }
var greetings: AsyncHandler { fatalError("This is compiled and never run.") }
