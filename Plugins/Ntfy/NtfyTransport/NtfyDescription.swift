/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum NtfyDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "ntfy",
          "block": "ntfy",
          "doc": "Further members of the message that ntfy shows.",
          "target": {"kind": "endpoint", "chosen": true},
          "fields": [
            {"name": "access_token", "doc": "The right to write to a protected topic."},
            {"name": "username", "doc": "An account that may write to the topic, instead of access_token."},
            {"name": "password", "doc": "The account's password."}
          ],
          "configuration": {
            "doc": "ntfy: topics are the users' own.",
            "schema": {
              "type": "object",
              "properties": {
                "wake_message": {"description": "What a wake-up shows.", "type": "string"},
                "batch_message": {
                  "description": "What one shows that stands for {n} events.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "priority": {
                "description": "From 1, least, to 5, most; 3 is the default.", "type": "integer",
                "minimum": 1, "maximum": 5
              },
              "tags": {
                "description": "Labels; what names an emoji is shown as one.", "type": "array",
                "minItems": 0, "maxItems": 32, "items": {"type": "string", "minLength": 1}
              },
              "icon": {
                "description": "A picture beside the message.", "type": "string", "format": "http-uri"
              },
              "attach": {
                "description": "A file to attach, by its URL.", "type": "string", "format": "http-uri"
              },
              "filename": {"description": "The attached file's name.", "type": "string", "minLength": 1},
              "click": {
                "description": "What a tap opens, in place of the rule's url.", "type": "string",
                "format": "uri"
              },
              "actions": {
                "description": "Up to three buttons, in place of the rule's.",
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {
                  "type": "object",
                  "properties": {
                    "action": {
                      "description": "Open a URL, ask one, or tell other apps.",
                      "enum": ["view", "http", "broadcast"], "x-fixed": true
                    },
                    "label": {
                      "description": "The text on the button.", "x-essential": true, "type": "string",
                      "minLength": 1
                    },
                    "url": {
                      "description": "What is opened or asked.", "x-essential": true, "type": "string",
                      "format": "uri"
                    },
                    "clear": {"description": "Whether a tap takes the message away.", "type": "boolean"},
                    "method": {
                      "description": "http: how it is asked; POST unless given.",
                      "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
                    },
                    "headers": {
                      "description": "http: header fields.", "type": "object",
                      "additionalProperties": {"type": "string"}
                    },
                    "body": {"description": "http: what is sent.", "type": "string", "x-place": "paragraph"},
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
                      "require": {"url": "what is opened"}
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["http"]}},
                      "require": {"url": "what is asked"}
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["broadcast"]}},
                      "refuse": ["url", "method", "headers", "body"], "message": "a broadcast has none"
                    },
                    {
                      "when": {"has": ["label"], "is": {"action": ["http"], "method": ["GET", "HEAD"]}},
                      "refuse": ["body"], "message": "{method} sends nothing"
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
                "description": "A telephone number that is called and told the message, or 'yes'.",
                "type": "string", "minLength": 1
              },
              "delay": {
                "description": "Hold it back: a moment or a length of time in ntfy's words, 10 s to 3 days.",
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
                "message": "what has a 'delay' must be kept until then"
              },
              {
                "when": {"has": ["delay"]}, "refuse": ["email", "call"],
                "message": "ntfy does not take this together with 'delay'"
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
