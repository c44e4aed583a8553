/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum WebPushDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Web Push",
          "block": "webpush",
          "doc": "What browsers get: members of the Notification, and how the push service treats it.",
          "target": {"kind": "subscription"},
          "configuration": {
            "doc": "Web Push: an app in browsers.",
            "schema": {
              "type": "object",
              "required": ["subject"],
              "properties": {
                "vapid_key_file": {
                  "description": "A private key on P-256 in PEM, with which messages are signed.",
                  "type": "string", "file": true
                },
                "vapid_key": {
                  "description": "The text of that file instead, as in ${VAPID_KEY}.", "type": "string"
                },
                "subject": {
                  "description": "Where push services find you, such as mailto:ops@example.com.",
                  "type": "string"
                },
                "old_vapid_key_files": {
                  "description": "Keys that were in use before, for subscriptions that know no other.",
                  "type": "array", "items": {"type": "string"}, "file": true
                },
                "navigate": {
                  "description": "What a tap opens when a notification names no url.", "type": "string"
                },
                "allowed_hosts": {
                  "description": "Push services that messages may go to; all when left out.",
                  "type": "array", "items": {"type": "string"}
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "lang": {"description": "The texts' language, such as de.", "type": "string", "minLength": 1},
              "dir": {"description": "Which way the texts are written.", "enum": ["auto", "ltr", "rtl"]},
              "tag": {"description": "Replaces what is shown under the same tag.", "type": "string"},
              "image": {
                "description": "The URL of a picture.", "type": "string", "format": "http-uri-reference"
              },
              "icon": {
                "description": "The URL of the icon.", "type": "string", "format": "http-uri-reference"
              },
              "badge": {
                "description": "The URL of a small picture for where there is little room.",
                "type": "string", "format": "http-uri-reference"
              },
              "vibrate": {
                "description": "Milliseconds of vibration and pause in turn.",
                "type": "array",
                "minItems": 1,
                "maxItems": 32,
                "items": {"type": "integer", "minimum": 0, "maximum": 60000}
              },
              "timestamp": {
                "description": "When what it tells of happened.", "type": "string", "format": "date-time",
                "x-writes": "unix-milliseconds"
              },
              "renotify": {
                "description": "Whether replacing one under the same tag makes itself heard again.",
                "type": "boolean"
              },
              "silent": {"description": "Whether it neither sounds nor vibrates.", "type": "boolean"},
              "requireInteraction": {
                "description": "Whether it stays until somebody acts.", "type": "boolean"
              },
              "navigate": {
                "description": "What a tap opens, in place of the rule's url.", "type": "string",
                "format": "uri"
              },
              "declarative": {
                "description": "Whether browsers may show it without a service worker; true unless given, where \#
        there is a url.",
                "type": "boolean"
              },
              "mutable": {
                "description": "Whether a service worker may change it before it is shown.",
                "type": "boolean"
              },
              "app_badge": {
                "description": "The number on the app's icon.", "type": "integer", "minimum": 0,
                "maximum": 2147483647
              },
              "topic": {
                "description": "Replaces what the push service still keeps under the same topic.",
                "type": "string", "pattern": "^[0-9A-Za-z_-]{1,32}$",
                "x-expected": "1 to 32 of A-Z, a-z, 0-9, - and _", "x-only-literals": true,
                "x-place": "identifier"
              },
              "ttl": {
                "description": "How long the push service keeps it for a browser that is off; at most thirty days.",
                "type": "string", "format": "duration", "maximum": 2592000, "x-writes": "seconds"
              },
              "urgency": {
                "description": "How soon a device should be bothered.",
                "enum": ["very-low", "low", "normal", "high"]
              }
            },
            "checks": [
              {
                "when": {"is": {"renotify": [true]}, "lacks": ["tag", "rule.collapse"]},
                "refuse": ["renotify"],
                "message": "'tag' is missing: in place of what this makes itself heard again"
              },
              {
                "when": {"is": {"silent": [true]}}, "refuse": ["vibrate"],
                "message": "what is silent does not vibrate"
              }
            ]
          },
          "presentation": [
            {"key": "silent", "loud": true, "order": [true, false], "absent": false},
            {"key": "vibrate", "loud": true},
            {"key": "urgency", "loud": true, "order": ["very-low", "low", "normal", "high"]},
            {"key": "app_badge"}
          ],
          "limits": {"payload": [{"bytes": 4096}], "lifetime_seconds": 2592000},
          "sample": {
            "token": "https://push.example.com/sample",
            "fields": {"p256dh": {"generate": "p256dh"}, "auth": {"generate": "auth"}},
            "configuration": {
              "vapid_key": {"generate": "p256-pem"}, "subject": "mailto:operator@example.com"
            }
          }
        }
        """#
}
