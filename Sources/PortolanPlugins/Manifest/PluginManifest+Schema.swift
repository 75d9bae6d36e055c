// SPDX-License-Identifier: Apache-2.0

extension PluginManifest {
    /// The JSON Schema (draft 2020-12) of a manifest, for editors. `docs/plugin-manifest.schema.json` contains this
    /// text.
    ///
    /// The schema allows a little more than ``init(parsing:path:)``, which also checks relations between values.
    package static let schema = #"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$id": "urn:portolan:plugin-manifest:1",
          "title": "Portolan plugin manifest",
          "description": "The description of a plugin in NAME.plugin.json. Portolan reads it without opening the library. The file is JSON5 in UTF-8, at most 1 MiB.",
          "type": "object",
          "required": ["identifier", "name", "vendor", "version", "library", "schemes"],
          "additionalProperties": false,
          "properties": {
            "$schema": { "description": "The schema that an editor checks this file against.", "type": "string" },
            "identifier": {
              "description": "Reverse DNS, the same as in the library: at least two labels of letters, digits, '-' and '_'.",
              "type": "string",
              "maxLength": 255,
              "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$"
            },
            "name": { "description": "For people.", "$ref": "#/$defs/line" },
            "vendor": { "description": "The person or organization responsible for it.", "$ref": "#/$defs/line" },
            "version": {
              "description": "Semantic Versioning 2.0.0.",
              "type": "string",
              "pattern": "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$"
            },
            "description": { "description": "One line on what it is for.", "$ref": "#/$defs/line" },
            "library": {
              "description": "The path of the shared library, relative to this file's folder and inside it: no '..', no leading '/'.",
              "type": "string",
              "maxLength": 1024,
              "pattern": "^(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+(/(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+)*$"
            },
            "sha256": { "description": "The library's digest. A library with another digest is not opened.", "$ref": "#/$defs/sha256" },
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
              "description": "The versions of Portolan that it works with: one to eight of >=, <=, >, <, =, each with a version. All must hold.",
              "type": "string",
              "pattern": "^ *(>=|<=|>|<|=)[0-9A-Za-z.+-]+( +(>=|<=|>|<|=)[0-9A-Za-z.+-]+){0,7} *$"
            },
            "permissions": {
              "description": "What the plugin may do outside its own loads. cookies: its handlers with PORTOLAN_COOKIES send and store cookies. network: it uses connections that are not nested loads. files: it uses files outside its folder.",
              "type": "array",
              "uniqueItems": true,
              "items": { "enum": ["cookies", "network", "files"] }
            },
            "settings": {
              "description": "Its settings, by name.",
              "type": "object",
              "maxProperties": 256,
              "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$" },
              "additionalProperties": { "$ref": "#/$defs/setting" }
            },
            "conformance": {
              "description": "What loads of some URLs return, so that `portolan check` can test it.",
              "type": "object",
              "required": ["loads"],
              "additionalProperties": false,
              "properties": {
                "loads": { "type": "array", "minItems": 1, "maxItems": 1024, "items": { "$ref": "#/$defs/load" } },
                "services": {
                  "description": "The servers that loads need, by name.",
                  "type": "object",
                  "maxProperties": 16,
                  "propertyNames": { "pattern": "^[A-Za-z0-9-]{1,63}$" },
                  "additionalProperties": { "$ref": "#/$defs/service" }
                }
              }
            },
            "binding": { "$ref": "#/$defs/binding" }
          },
          "dependentSchemas": {
            "binding": { "properties": { "schemes": { "type": "array" }, "permissions": { "maxItems": 0 } } }
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
                "default": { "description": "The value if the user gives none; of the setting's type.", "type": ["string", "number", "boolean"] },
                "required": { "description": "Whether the user must give a value.", "type": "boolean" },
                "description": { "$ref": "#/$defs/line" },
                "minimum": { "description": "The least allowed integer or number.", "type": "number" },
                "maximum": { "description": "The largest allowed integer or number.", "type": "number" }
              }
            },
            "binding": {
              "description": "Makes a handler from a library that is not a plugin: its functions, and the steps of a load.",
              "type": "object",
              "required": ["functions", "steps"],
              "additionalProperties": false,
              "properties": {
                "library": { "description": "Where the library is: in this file's folder (the default), or among the system libraries.", "enum": ["folder", "system"] },
                "functions": {
                  "description": "Signatures by name, as in \"int32 (Archive, buffer room[size] filled by result, size size)\".",
                  "type": "object",
                  "minProperties": 1,
                  "maxProperties": 256,
                  "propertyNames": { "$ref": "#/$defs/name" },
                  "additionalProperties": { "$ref": "#/$defs/signature" }
                },
                "structs": {
                  "description": "The fields of structs, by the name of the handles that point to them. {NAME.FIELD} is the value of a field.",
                  "type": "object",
                  "propertyNames": { "maxLength": 128, "pattern": "^[A-Z][A-Za-z0-9_]*$" },
                  "additionalProperties": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 256,
                    "propertyNames": { "$ref": "#/$defs/name" },
                    "additionalProperties": {
                      "type": "object",
                      "required": ["offset", "type"],
                      "additionalProperties": false,
                      "properties": {
                        "offset": { "description": "The distance from the start of the struct, in bytes.", "type": "integer", "minimum": 0, "maximum": 1048576 },
                        "type": {
                          "description": "A number, bool, cstring, pointer, a handle, or char[N] with 1 to 65536 bytes.",
                          "type": "string",
                          "pattern": "^(u?int(8|16|32|64)?|u?long|s?size|float|double|bool|(cstring|pointer|[A-Z][A-Za-z0-9_]*)\\\\??|char\\\\[[1-9][0-9]{0,4}\\\\])$"
                        }
                      }
                    }
                  }
                },
                "callbacks": {
                  "description": "Functions that the library calls, by name.",
                  "type": "object",
                  "maxProperties": 16,
                  "propertyNames": { "$ref": "#/$defs/name" },
                  "additionalProperties": { "$ref": "#/$defs/callback" }
                },
                "setup": { "description": "Steps that run once, before the first load.", "$ref": "#/$defs/steps" },
                "steps": { "description": "The steps of a load, in this order.", "$ref": "#/$defs/steps" },
                "error": { "description": "How to report the failure of a step that has no 'error'.", "$ref": "#/$defs/failure" },
                "stop": {
                  "description": "How a stop reaches a blocking call: by a callback's return value, by another function on another thread, or only at the next step (the default).",
                  "oneOf": [{ "enum": ["callback", "step"] }, { "$ref": "#/$defs/call" }]
                }
              }
            },
            "name": { "type": "string", "maxLength": 128, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "signature": { "type": "string", "minLength": 3, "maxLength": 1024, "pattern": "^[ A-Za-z0-9_?*,.()\\[\\]]+$" },
            "template": { "description": "Text that may contain {names}; {{ and }} are braces.", "type": "string", "maxLength": 4096 },
            "value": { "type": ["string", "number", "boolean", "null"] },
            "argument": {
              "description": "A value; {\"TYPE\": value} after '...'; {\"NAME\": SIZE} or {\"NAME\": {\"size\": \"{n}\", \"atMost\": SIZE}} for a buffer.",
              "oneOf": [
                { "$ref": "#/$defs/value" },
                {
                  "type": "object",
                  "minProperties": 1,
                  "maxProperties": 1,
                  "additionalProperties": {
                    "oneOf": [
                      { "$ref": "#/$defs/value" },
                      {
                        "type": "object",
                        "required": ["size", "atMost"],
                        "additionalProperties": false,
                        "properties": { "size": { "type": ["integer", "string"] }, "atMost": { "type": "integer", "minimum": 1 } }
                      }
                    ]
                  }
                }
              ]
            },
            "arguments": { "type": "array", "maxItems": 32, "items": { "$ref": "#/$defs/argument" } },
            "callback": {
              "type": "object",
              "required": ["signature"],
              "additionalProperties": false,
              "properties": {
                "signature": { "$ref": "#/$defs/signature" },
                "deliver": { "description": "The 'bytes' parameter of the signature that holds the next bytes of the body.", "$ref": "#/$defs/name" },
                "fill": { "description": "The 'buffer' parameter of the signature that takes the next bytes of the request body.", "$ref": "#/$defs/name" },
                "returns": { "description": "What it returns: a constant, or \"{NAME.length}\".", "type": ["string", "number", "boolean"] },
                "stopped": { "description": "What it returns after the load is over.", "type": ["number", "boolean"] }
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
                "code": { "description": "The name of a published code, for numbers that are not in 'codes'.", "type": "string" },
                "codes": {
                  "description": "Published codes, by the number that the call returned.",
                  "type": "object",
                  "maxProperties": 256,
                  "propertyNames": { "pattern": "^(0|-?[1-9][0-9]*)$" },
                  "additionalProperties": { "type": "string" }
                },
                "message": { "$ref": "#/$defs/template", "minLength": 1 },
                "text": { "description": "A call that returns the library's error text.", "$ref": "#/$defs/call" }
              }
            },
            "steps": { "type": "array", "minItems": 1, "maxItems": 128, "items": { "$ref": "#/$defs/step" } },
            "step": {
              "type": "object",
              "additionalProperties": false,
              "oneOf": [
                {
                  "required": ["call"],
                  "properties": { "respond": false, "require": false, "loop": false, "break": false, "steps": false }
                },
                {
                  "required": ["respond"],
                  "properties": { "call": false, "require": false, "loop": false, "break": false, "steps": false, "deliver": false }
                },
                {
                  "required": ["require"],
                  "properties": { "call": false, "respond": false, "loop": false, "break": false, "steps": false, "deliver": false }
                },
                {
                  "required": ["loop"],
                  "properties": { "call": false, "respond": false, "require": false, "break": false, "steps": false, "deliver": false }
                },
                {
                  "required": ["break"],
                  "properties": { "call": false, "respond": false, "require": false, "loop": false, "steps": false, "deliver": false }
                },
                {
                  "required": ["steps"],
                  "properties": { "call": false, "respond": false, "require": false, "loop": false, "break": false, "deliver": false }
                },
                {
                  "required": ["deliver"],
                  "properties": { "call": false, "respond": false, "require": false, "loop": false, "break": false, "steps": false }
                }
              ],
              "dependentRequired": {
                "with": ["call"], "result": ["call"], "check": ["call"], "until": ["call"], "cleanup": ["call"], "index": ["loop"]
              },
              "properties": {
                "when": { "description": "The step runs only if this holds.", "$ref": "#/$defs/guard" },
                "error": { "$ref": "#/$defs/failure" },
                "call": { "$ref": "#/$defs/name" },
                "with": { "$ref": "#/$defs/arguments" },
                "result": { "description": "The name of the call's result.", "$ref": "#/$defs/name" },
                "check": { "description": "Holds for the result if the call succeeded.", "$ref": "#/$defs/condition" },
                "until": { "description": "The call is repeated until this holds for its result.", "$ref": "#/$defs/condition" },
                "deliver": { "description": "The next bytes of the body.", "$ref": "#/$defs/template" },
                "cleanup": {
                  "description": "A call at the end of the load, also after a failure. In a loop, at the end of each repetition.",
                  "type": "object",
                  "required": ["call"],
                  "additionalProperties": false,
                  "properties": {
                    "call": { "$ref": "#/$defs/name" },
                    "with": { "$ref": "#/$defs/arguments" },
                    "afterFailure": { "description": "Whether it is also called if the call of the step has failed.", "type": "boolean" }
                  }
                },
                "steps": { "description": "Steps that are performed once, for one 'when'.", "$ref": "#/$defs/steps" },
                "loop": { "description": "Steps that are repeated until a 'break'.", "$ref": "#/$defs/steps" },
                "index": { "description": "The name of the number of the repetition, from 0.", "$ref": "#/$defs/name" },
                "break": { "description": "What must hold to leave the loop.", "$ref": "#/$defs/guard" },
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
                "require": { "description": "What must hold for the load to continue.", "$ref": "#/$defs/guard" }
              }
            },
            "service": {
              "description": "A server that loads need. 'portolan check' starts it, and ends it after the checks.",
              "type": "object",
              "required": ["command"],
              "additionalProperties": false,
              "properties": {
                "command": {
                  "description": "The program and its arguments. {port} stands for a free TCP port of 127.0.0.1, {folder} for an empty folder.",
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 64,
                  "items": { "type": "string", "maxLength": 4096 }
                },
                "ready": { "description": "Ready when its output has this text; without it, when it accepts connections.", "$ref": "#/$defs/line" }
              }
            },
            "load": {
              "type": "object",
              "required": ["url"],
              "additionalProperties": false,
              "properties": {
                "url": { "description": "Absolute. {NAME} stands for the host and the port of a server in 'needs'.", "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:" },
                "status": { "type": "integer", "minimum": 100, "maximum": 599 },
                "mime": { "description": "Without parameters, in lower case.", "type": "string", "pattern": "^[a-z0-9!#$%&'*+.^_`|~-]+/[a-z0-9!#$%&'*+.^_`|~-]+$" },
                "length": { "description": "The number of bytes of the body, or of its part before a failure.", "type": "integer", "minimum": 0 },
                "sha256": { "description": "Of the body.", "$ref": "#/$defs/sha256" },
                "tags": {
                  "description": "What the URL is an example of.",
                  "type": "array",
                  "maxItems": 10,
                  "items": { "enum": ["small", "large", "empty", "fails", "redirects", "challenges", "cancelsChallenge", "uploads", "nested", "hangs"] }
                },
                "error": { "description": "The published name of the error code with which it fails, or domain:number.", "type": "string", "minLength": 1 },
                "credential": {
                  "description": "The credential for a challenge.",
                  "type": "object",
                  "required": ["username", "password"],
                  "additionalProperties": false,
                  "properties": { "username": { "type": "string" }, "password": { "type": "string" } }
                },
                "needs": {
                  "description": "The names of the servers that must run before the load: of 'services', or of 'portolan check --have NAME=HOST:PORT'.",
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
