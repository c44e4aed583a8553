/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum NtfyDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "ntfy",
          "block": "ntfy",
          "doc": "Additional members of the ntfy message.",
          "target": {"kind": "endpoint", "chosen": true},
          "fields": [
            {"name": "access_token", "doc": "An access token for a protected topic."},
            {"name": "username", "doc": "An account that may write to the topic, instead of access_token."},
            {"name": "password", "doc": "The account's password."}
          ],
          "configuration": {
            "doc": "ntfy: users choose their own topics.",
            "schema": {
              "type": "object",
              "properties": {
                "wake_message": {"description": "The text in mode wake.", "type": "string"},
                "batch_message": {
                  "description": "The text in mode wake for {n} events.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "priority": {
                "description": "From 1 (lowest) to 5 (highest). Default: 3.", "type": "integer",
                "minimum": 1, "maximum": 5
              },
              "tags": {
                "description": "Labels; names of emoji are shown as emoji.", "type": "array",
                "minItems": 0, "maxItems": 32, "items": {"type": "string", "minLength": 1}
              },
              "icon": {
                "description": "A picture next to the message.", "type": "string", "format": "http-uri"
              },
              "attach": {
                "description": "A file to attach, by its URL.", "type": "string", "format": "http-uri"
              },
              "filename": {"description": "The attached file's name.", "type": "string", "minLength": 1},
              "click": {
                "description": "The URL that a tap opens, instead of the rule's.", "type": "string",
                "format": "uri"
              },
              "actions": {
                "description": "Up to three buttons, instead of the rule's.",
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {
                  "type": "object",
                  "properties": {
                    "action": {
                      "description": "Open a URL, send an HTTP request, or send a broadcast to other apps.",
                      "enum": ["view", "http", "broadcast"], "x-fixed": true
                    },
                    "label": {
                      "description": "The text on the button.", "x-essential": true, "type": "string",
                      "minLength": 1
                    },
                    "url": {
                      "description": "The URL to open or request.", "x-essential": true, "type": "string",
                      "format": "uri"
                    },
                    "clear": {"description": "Whether a tap removes the message.", "type": "boolean"},
                    "method": {
                      "description": "http: the method. Default: POST.",
                      "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
                    },
                    "headers": {
                      "description": "http: header fields.", "type": "object",
                      "additionalProperties": {"type": "string"}
                    },
                    "body": {"description": "http: the body.", "type": "string", "x-place": "paragraph"},
                    "intent": {
                      "description": "broadcast: the Android intent.", "type": "string", "minLength": 1
                    },
                    "extras": {
                      "description": "broadcast: the intent's extras.", "type": "object",
                      "additionalProperties": {"type": "string"}
                    }
                  },
                  "checks": [
                    {"require": {"action": "view, http or broadcast"}},
                    {"when": {"has": ["action"]}, "require": {"label": "the text on the button"}},
                    {
                      "when": {"has": ["label"], "is": {"action": ["view"]}},
                      "require": {"url": "the URL to open"}
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["http"]}},
                      "require": {"url": "the URL to request"}
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["broadcast"]}},
                      "refuse": ["url", "method", "headers", "body"], "message": "not allowed in a broadcast"
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["http"], "method": ["GET", "HEAD"]}},
                      "refuse": ["body"], "message": "{method} requests have no body"
                    }
                  ]
                }
              },
              "markdown": {"description": "Whether the text is Markdown.", "type": "boolean"},
              "email": {
                "description": "An e-mail address that gets the message, too.", "type": "string",
                "minLength": 1
              },
              "call": {
                "description": "A phone number to call and read the message to, or 'yes'.",
                "type": "string", "minLength": 1
              },
              "delay": {
                "description": "Delay delivery: a time or duration in ntfy's format, 10 s to 3 days.",
                "type": "string", "minLength": 1
              },
              "cache": {
                "description": "no: the server keeps no copy.", "type": "boolean", "x-writes": "yes-or-no"
              },
              "firebase": {
                "description": "no: the message does not pass through Google.", "type": "boolean",
                "x-writes": "yes-or-no"
              }
            },
            "checks": [
              {
                "when": {"has": ["delay"]}, "allow": {"cache": [true]},
                "message": "a 'delay' requires caching: remove this or 'delay'"
              },
              {
                "when": {"has": ["delay"]}, "refuse": ["email", "call"],
                "message": "ntfy does not allow this together with 'delay'"
              }
            ]
          },
          "presentation": [{"key": "priority", "loud": true, "order": [1, 2, 3, 4, 5]}],
          "shows_wake_ups": true,
          "limits": {"payload": [{"bytes": 4096, "counts": ["/message"]}]},
          "cannot": ["category", "thread"],
          "sample": {"token": "https://ntfy.example.com/sample"}
        }
        """#
}
