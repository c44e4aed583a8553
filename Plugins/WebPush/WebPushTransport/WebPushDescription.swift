/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum WebPushDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Web Push",
          "block": "webpush",
          "doc": "Members of the browser's Notification, and options for the push service.",
          "target": {"kind": "subscription"},
          "configuration": {
            "doc": "Web Push: an app in browsers.",
            "schema": {
              "type": "object",
              "required": ["subject"],
              "properties": {
                "vapid_key_file": {
                  "description": "A P-256 private key in PEM that signs messages.",
                  "type": "string", "file": true
                },
                "vapid_key": {
                  "description": "The content of that file instead, such as ${VAPID_KEY}.", "type": "string"
                },
                "subject": {
                  "description": "Your contact for push services, such as mailto:ops@example.com.",
                  "type": "string"
                },
                "old_vapid_key_files": {
                  "description": "Previous keys, for subscriptions that were made with them.",
                  "type": "array", "items": {"type": "string"}, "file": true
                },
                "navigate": {
                  "description": "The URL that a tap opens if a notification has none.", "type": "string"
                },
                "allowed_hosts": {
                  "description": "Push services that messages may be sent to. Default: all.",
                  "type": "array", "items": {"type": "string"}
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "lang": {"description": "The texts' language, such as de.", "type": "string", "minLength": 1},
              "dir": {"description": "The direction of the texts.", "enum": ["auto", "ltr", "rtl"]},
              "tag": {"description": "Replaces the notification with the same tag.", "type": "string"},
              "image": {
                "description": "The URL of a picture.", "type": "string", "format": "http-uri-reference"
              },
              "icon": {
                "description": "The URL of the icon.", "type": "string", "format": "http-uri-reference"
              },
              "badge": {
                "description": "The URL of a small picture for small spaces.",
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
                "description": "The time of the event.", "type": "string", "format": "date-time",
                "x-writes": "unix-milliseconds"
              },
              "renotify": {
                "description": "Whether replacing a notification with the same tag alerts the user again.",
                "type": "boolean"
              },
              "silent": {"description": "Whether it has no sound and no vibration.", "type": "boolean"},
              "requireInteraction": {
                "description": "Whether it stays until the user acts.", "type": "boolean"
              },
              "navigate": {
                "description": "The URL that a tap opens, instead of the rule's.", "type": "string",
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
                "description": "Replaces a waiting message with the same topic at the push service.",
                "type": "string", "pattern": "^[0-9A-Za-z_-]{1,32}$",
                "x-expected": "1 to 32 of A-Z, a-z, 0-9, - and _", "x-only-literals": true,
                "x-place": "identifier"
              },
              "ttl": {
                "description": "How long the push service keeps it for a browser that is off; at most thirty days.",
                "type": "string", "format": "duration", "maximum": 2592000, "x-writes": "seconds"
              },
              "urgency": {
                "description": "How urgent the message is for a device.",
                "enum": ["very-low", "low", "normal", "high"]
              }
            },
            "checks": [
              {
                "when": {"is": {"renotify": [true]}, "lacks": ["tag", "rule.collapse"]},
                "refuse": ["renotify"],
                "message": "'tag' is missing: add the tag of the notification to replace"
              },
              {
                "when": {"is": {"silent": [true]}}, "refuse": ["vibrate"],
                "message": "not allowed with 'silent: true'"
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
