// SPDX-License-Identifier: Apache-2.0

extension PluginManifest {
    /// The JSON Schema (draft 2020-12) of a manifest, for editors. It allows a little more than ``init(parsing:path:)``, which also compares values
    /// with each other; `docs/plugin-manifest.schema.json` is this text.
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
            }
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
