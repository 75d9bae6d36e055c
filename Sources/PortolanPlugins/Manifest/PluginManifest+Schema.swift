// SPDX-License-Identifier: Apache-2.0

extension PluginManifest {
    /// The JSON Schema (draft 2020-12) of a manifest, for editors. `docs/plugin-manifest.schema.json` contains this
    /// text.
    ///
    /// The schema allows a little more than ``init(parsing:path:)``, which also compares values with each other.
    public static let schema = #"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$id": "urn:portolan:plugin-manifest:1",
          "title": "Portolan plugin manifest",
          "description": "What a plugin says of itself in NAME.plugin.json, so that its library need not be opened to know it. The file is JSON5 in UTF-8, at most 1 MiB.",
          "type": "object",
          "required": ["identifier", "name", "vendor", "version", "library", "schemes"],
          "additionalProperties": false,
          "properties": {
            "$schema": { "description": "The schema that an editor checks this file against.", "type": "string" },
            "identifier": {
              "description": "Reverse DNS, the same as in the library: labels of letters, digits, '-' and '_', two at least.",
              "type": "string",
              "maxLength": 255,
              "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$"
            },
            "name": { "description": "For people.", "$ref": "#/$defs/line" },
            "vendor": { "description": "Who answers for it.", "$ref": "#/$defs/line" },
            "version": {
              "description": "Semantic Versioning 2.0.0.",
              "type": "string",
              "pattern": "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$"
            },
            "description": { "description": "One line on what it is for.", "$ref": "#/$defs/line" },
            "library": {
              "description": "The shared library's path from this file's folder, and in it: no '..', no '/' in front.",
              "type": "string",
              "maxLength": 1024,
              "pattern": "^(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+(/(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+)*$"
            },
            "sha256": { "description": "The library's digest; another library is not opened.", "$ref": "#/$defs/sha256" },
            "schemes": {
              "description": "The URL schemes of all its handlers, in lower case (RFC 3986 section 3.1), or \"any\" for one that is asked about every request.",
              "oneOf": [
                { "const": "any" },
                {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 64,
                  "uniqueItems": true,
                  "items": { "type": "string", "pattern": "^[a-z][a-z0-9+.-]*$" }
                }
              ]
            },
            "hostVersions": {
              "description": "The versions of Portolan that it works with: one to eight of >=, <=, >, <, =, each with a version; all have to hold.",
              "type": "string",
              "pattern": "^ *(>=|<=|>|<|=)[0-9A-Za-z.+-]+( +(>=|<=|>|<|=)[0-9A-Za-z.+-]+){0,7} *$"
            },
            "settings": {
              "description": "What it can be set up with, by name.",
              "type": "object",
              "maxProperties": 256,
              "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$" },
              "additionalProperties": { "$ref": "#/$defs/setting" }
            },
            "conformance": {
              "description": "What it promises of some URLs, so that others can judge it.",
              "type": "object",
              "required": ["loads"],
              "additionalProperties": false,
              "properties": {
                "loads": { "type": "array", "minItems": 1, "maxItems": 1024, "items": { "$ref": "#/$defs/load" } }
              }
            },
            "binding": { "$ref": "#/$defs/binding" }
          },
          "dependentSchemas": {
            "binding": { "properties": { "schemes": { "type": "array" } } }
          },
          "$defs": {
            "line": { "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$" },
            "sha256": { "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" },
            "setting": {
              "type": "object",
              "required": ["type"],
              "additionalProperties": false,
              "properties": {
                "type": { "enum": ["string", "integer", "number", "boolean"] },
                "default": { "description": "Where the user says nothing; of the setting's type.", "type": ["string", "number", "boolean"] },
                "required": { "description": "Whether the user has to give a value.", "type": "boolean" },
                "description": { "$ref": "#/$defs/line" },
                "minimum": { "description": "Of an integer or number, itself allowed.", "type": "number" },
                "maximum": { "description": "Of an integer or number, itself allowed.", "type": "number" }
              }
            },
            "binding": {
              "description": "What makes a handler of a library that is no plugin: its functions, and the steps of a load.",
              "type": "object",
              "required": ["functions", "steps"],
              "additionalProperties": false,
              "properties": {
                "library": { "description": "Where the library lies: in this file's folder (what is meant where nothing is said), or among the system's.", "enum": ["folder", "system"] },
                "functions": {
                  "description": "Signatures by name, as in \"int32 (Archive, buffer room[size] filled by result, size size)\".",
                  "type": "object",
                  "minProperties": 1,
                  "maxProperties": 256,
                  "propertyNames": { "$ref": "#/$defs/name" },
                  "additionalProperties": { "$ref": "#/$defs/signature" }
                },
                "callbacks": {
                  "description": "What the library calls, by name.",
                  "type": "object",
                  "maxProperties": 16,
                  "propertyNames": { "$ref": "#/$defs/name" },
                  "additionalProperties": { "$ref": "#/$defs/callback" }
                },
                "setup": { "description": "What is done once, before the first load.", "$ref": "#/$defs/steps" },
                "steps": { "description": "What a load does, in this order.", "$ref": "#/$defs/steps" },
                "error": { "description": "How the failure of a step is told that does not say itself.", "$ref": "#/$defs/failure" },
                "stop": {
                  "description": "How a stop reaches a call that blocks: by a callback's answer, by another function on another thread, or only at the next step (what is meant where nothing is said).",
                  "oneOf": [{ "enum": ["callback", "step"] }, { "$ref": "#/$defs/call" }]
                }
              }
            },
            "name": { "type": "string", "maxLength": 128, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "signature": { "type": "string", "minLength": 3, "maxLength": 1024, "pattern": "^[ A-Za-z0-9_?*,.()\\[\\]]+$" },
            "template": { "description": "Text with {names} in it; {{ and }} are braces.", "type": "string", "maxLength": 4096 },
            "value": { "type": ["string", "number", "boolean", "null"] },
            "argument": {
              "description": "A value; or {\"TYPE\": value} after '...', and {\"NAME\": SIZE} for a buffer.",
              "oneOf": [
                { "$ref": "#/$defs/value" },
                { "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": { "$ref": "#/$defs/value" } }
              ]
            },
            "arguments": { "type": "array", "maxItems": 32, "items": { "$ref": "#/$defs/argument" } },
            "callback": {
              "type": "object",
              "required": ["signature"],
              "additionalProperties": false,
              "properties": {
                "signature": { "$ref": "#/$defs/signature" },
                "deliver": { "description": "The 'bytes' of the signature that are the body's next.", "$ref": "#/$defs/name" },
                "fill": { "description": "The 'buffer' of the signature that takes the request body's next bytes.", "$ref": "#/$defs/name" },
                "returns": { "description": "What it answers: a constant, or \"{NAME.length}\".", "type": ["string", "number", "boolean"] },
                "stopped": { "description": "What it answers once the load is over.", "type": ["number", "boolean"] }
              }
            },
            "call": {
              "type": "object",
              "required": ["call"],
              "additionalProperties": false,
              "properties": { "call": { "$ref": "#/$defs/name" }, "with": { "$ref": "#/$defs/arguments" } }
            },
            "condition": {
              "type": "object",
              "minProperties": 1,
              "maxProperties": 1,
              "additionalProperties": false,
              "properties": {
                "equals": { "type": ["string", "number", "boolean"] },
                "differsFrom": { "type": ["string", "number", "boolean"] },
                "atLeast": { "type": "integer" },
                "atMost": { "type": "integer" },
                "oneOf": { "type": "array", "minItems": 1, "maxItems": 64, "items": { "type": ["string", "number", "boolean"] } },
                "isNull": { "type": "boolean" }
              }
            },
            "guard": {
              "type": "object",
              "required": ["value"],
              "minProperties": 2,
              "maxProperties": 2,
              "additionalProperties": false,
              "properties": {
                "value": { "$ref": "#/$defs/template" },
                "equals": { "type": ["string", "number", "boolean"] },
                "differsFrom": { "type": ["string", "number", "boolean"] },
                "atLeast": { "type": "integer" },
                "atMost": { "type": "integer" },
                "oneOf": { "type": "array", "minItems": 1, "maxItems": 64, "items": { "type": ["string", "number", "boolean"] } },
                "isNull": { "type": "boolean" }
              }
            },
            "failure": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "code": { "description": "A published code's name, for numbers that 'codes' does not have.", "type": "string" },
                "codes": {
                  "description": "Published codes by the number that the call gave.",
                  "type": "object",
                  "maxProperties": 256,
                  "propertyNames": { "pattern": "^(0|-?[1-9][0-9]*)$" },
                  "additionalProperties": { "type": "string" }
                },
                "message": { "$ref": "#/$defs/template", "minLength": 1 },
                "text": { "description": "A call that gives the library's own words.", "$ref": "#/$defs/call" }
              }
            },
            "steps": { "type": "array", "minItems": 1, "maxItems": 128, "items": { "$ref": "#/$defs/step" } },
            "step": {
              "type": "object",
              "additionalProperties": false,
              "oneOf": [
                { "required": ["call"], "properties": { "respond": false, "require": false } },
                { "required": ["respond"], "properties": { "call": false, "require": false, "deliver": false } },
                { "required": ["require"], "properties": { "call": false, "respond": false, "deliver": false } },
                { "required": ["deliver"], "properties": { "call": false, "respond": false, "require": false } }
              ],
              "dependentRequired": { "with": ["call"], "result": ["call"], "check": ["call"], "until": ["call"], "cleanup": ["call"] },
              "properties": {
                "when": { "description": "Only then is the step done.", "$ref": "#/$defs/guard" },
                "error": { "$ref": "#/$defs/failure" },
                "call": { "$ref": "#/$defs/name" },
                "with": { "$ref": "#/$defs/arguments" },
                "result": { "description": "The name of what the call gives.", "$ref": "#/$defs/name" },
                "check": { "description": "What holds for the result of a call that succeeded.", "$ref": "#/$defs/condition" },
                "until": { "description": "The call is made again until this holds for its result.", "$ref": "#/$defs/condition" },
                "deliver": { "description": "The body's next bytes.", "$ref": "#/$defs/template" },
                "cleanup": { "description": "What is called when the load is over, whatever came of it.", "$ref": "#/$defs/call" },
                "respond": {
                  "type": "object",
                  "additionalProperties": false,
                  "properties": {
                    "status": { "type": ["integer", "string"], "minimum": 200, "maximum": 599 },
                    "mime": { "type": ["string", "null"] },
                    "length": { "type": ["integer", "string"], "minimum": 0 },
                    "textEncoding": { "type": ["string", "null"] },
                    "filename": { "type": ["string", "null"] }
                  }
                },
                "require": { "description": "What has to hold for the load to go on.", "$ref": "#/$defs/guard" }
              }
            },
            "load": {
              "type": "object",
              "required": ["url"],
              "additionalProperties": false,
              "properties": {
                "url": { "description": "Absolute.", "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:" },
                "status": { "type": "integer", "minimum": 100, "maximum": 599 },
                "mime": { "description": "Without parameters, in lower case.", "type": "string", "pattern": "^[a-z0-9!#$%&'*+.^_`|~-]+/[a-z0-9!#$%&'*+.^_`|~-]+$" },
                "length": { "description": "Of the body, or of what comes of it before a failure, in bytes.", "type": "integer", "minimum": 0 },
                "sha256": { "description": "Of the body.", "$ref": "#/$defs/sha256" },
                "tags": {
                  "description": "What the URL is an example of.",
                  "type": "array",
                  "maxItems": 9,
                  "items": { "enum": ["small", "large", "empty", "fails", "redirects", "challenges", "uploads", "nested", "hangs"] }
                },
                "error": { "description": "The published name of the code with which it fails, or domain:number.", "type": "string", "minLength": 1 },
                "credential": {
                  "description": "What a challenge is to be answered with.",
                  "type": "object",
                  "required": ["username", "password"],
                  "additionalProperties": false,
                  "properties": { "username": { "type": "string" }, "password": { "type": "string" } }
                },
                "needs": {
                  "description": "What has to be there first, as in 'server: argv that serves it on a free port'.",
                  "type": "array",
                  "maxItems": 16,
                  "items": { "$ref": "#/$defs/line" }
                }
              }
            }
          }
        }

        """#
}
