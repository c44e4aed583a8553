/// What the plugin says about its platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum HMSDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Huawei Push Kit",
          "block": "hms",
          "doc": "What Huawei's devices get through Push Kit: members of the message's android object.",
          "target": {"kind": "token", "expected": "the device token that the platform handed out"},
          "configuration": {
            "doc": "Push Kit: an app on Huawei's devices.",
            "schema": {
              "type": "object",
              "properties": {
                "app_id": {
                  "description": "The app's id in AppGallery Connect.",
                  "type": "string"
                },
                "client_secret": {
                  "description": "The app's client secret in AppGallery Connect, as in ${HMS_SECRET}.",
                  "type": "string"
                },
                "client_secret_file": {
                  "description": "A file with the secret and nothing else, in place of it.", "type": "string",
                  "file": true
                },
                "high_priority": {
                  "description": "Whether Huawei lets the app send data messages that wake a sleeping device; \#
        false when left out.",
                  "type": "boolean"
                },
                "token_url": {
                  "description": "The token endpoint in place of Huawei's.", "type": "string", "format": "http-uri"
                },
                "origin": {
                  "description": "https://host:port in place of Huawei's servers.", "type": "string"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "style": {
                "description": "data: the app draws the notification itself; notification: Push Kit does.",
                "enum": ["data", "notification"], "x-fixed": true
              },
              "category": {
                "description": "What sort of message it is, such as IM; without one it counts as marketing.",
                "type": "string", "minLength": 1
              },
              "urgency": {
                "description": "HIGH wakes a device that sleeps, where Huawei allows it to the app.",
                "enum": ["NORMAL", "HIGH"]
              },
              "ttl": {
                "description": "How long Huawei keeps the message for a device that is off; at most 15 days.",
                "type": "string", "format": "duration", "maximum": 1296000, "x-writes": "protobuf"
              },
              "collapse_key": {
                "description": "-1: all messages are kept for a device that is off. 0: the last one. 1 to 100: the \#
        last one of this number.",
                "type": "integer", "minimum": -1, "maximum": 100
              },
              "bi_tag": {
                "description": "What receipts call the message.", "type": "string", "minLength": 1
              },
              "receipt_id": {
                "description": "Which of the app's receipt addresses learns of it.", "type": "string", "minLength": 1
              },
              "fast_app_target": {
                "description": "Of quick apps: 1 is the development version, 2 the released one.",
                "type": "integer", "minimum": 1, "maximum": 2
              },
              "notification": {
                "description": "How Push Kit shows the notification.",
                "type": "object",
                "properties": {
                  "title": {"description": "In place of the rule's title.", "type": "string"},
                  "body": {
                    "description": "In place of the rule's body.", "type": "string", "x-place": "paragraph"
                  },
                  "icon": {
                    "description": "The icon, as a resource of the app.", "type": "string", "minLength": 1
                  },
                  "color": {
                    "description": "The icon's colour.", "type": "string", "pattern": "^#[0-9A-Fa-f]{6}$",
                    "x-expected": "a colour as #rrggbb"
                  },
                  "sound": {
                    "description": "A sound of the app.", "type": "string", "minLength": 1
                  },
                  "default_sound": {
                    "description": "Whether it has the device's own sound.", "type": "boolean"
                  },
                  "tag": {
                    "description": "Replaces what is shown under the same tag.", "type": "string",
                    "minLength": 1
                  },
                  "click_action": {
                    "description": "What a tap opens.",
                    "type": "object",
                    "properties": {
                      "type": {
                        "description": "1: a page of the app. 2: a web page. 3: the app.", "type": "integer",
                        "minimum": 1, "maximum": 3
                      },
                      "intent": {
                        "description": "1: the page, as an intent.", "type": "string", "minLength": 1
                      },
                      "action": {
                        "description": "1: the page, as an action of the app.", "type": "string", "minLength": 1
                      },
                      "url": {"description": "2: the web page.", "type": "string", "format": "http-uri"}
                    },
                    "checks": [
                      {"require": {"type": "1, 2 or 3"}},
                      {"when": {"is": {"type": [2]}}, "require": {"url": "the web page"}}
                    ]
                  },
                  "title_loc_key": {
                    "description": "The title, as a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "title_loc_args": {
                    "description": "What goes into the text of title_loc_key.", "type": "array",
                    "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                  },
                  "body_loc_key": {
                    "description": "The body, as a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "body_loc_args": {
                    "description": "What goes into the text of body_loc_key.", "type": "array",
                    "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                  },
                  "channel_id": {
                    "description": "The notification channel.", "type": "string", "minLength": 1
                  },
                  "notify_summary": {
                    "description": "A summary beside the app's name.", "type": "string", "minLength": 1
                  },
                  "image": {
                    "description": "A picture, of at most 512 KB.", "type": "string", "format": "http-uri"
                  },
                  "style": {
                    "description": "0: as usual. 1: with a long text.", "type": "integer", "minimum": 0,
                    "maximum": 1
                  },
                  "big_title": {"description": "The title of the long text.", "type": "string", "minLength": 1},
                  "big_body": {
                    "description": "The long text.", "type": "string", "minLength": 1, "x-place": "paragraph"
                  },
                  "notify_id": {
                    "description": "Replaces what is shown under the same number.", "type": "integer",
                    "minimum": 0, "maximum": 2147483647
                  },
                  "group": {
                    "description": "What belongs together on the screen.", "type": "string", "minLength": 1
                  },
                  "badge": {
                    "description": "The number on the app's icon.",
                    "type": "object",
                    "properties": {
                      "add_num": {
                        "description": "Add so many.", "type": "integer", "minimum": 1, "maximum": 99
                      },
                      "set_num": {
                        "description": "Set it.", "type": "integer", "minimum": 0, "maximum": 99
                      },
                      "class": {
                        "description": "The app's entry activity.", "type": "string", "minLength": 1
                      }
                    }
                  },
                  "ticker": {
                    "description": "What is read aloud to people who hear their screen.", "type": "string"
                  },
                  "when": {
                    "description": "When what it tells of happened.", "type": "string",
                    "format": "date-time", "x-writes": "rfc3339"
                  },
                  "importance": {
                    "description": "How much it may interrupt; HIGH where Huawei allows it to the app.",
                    "enum": ["LOW", "NORMAL", "HIGH"]
                  },
                  "use_default_vibrate": {
                    "description": "Whether it vibrates as the device does by itself.", "type": "boolean"
                  },
                  "use_default_light": {
                    "description": "Whether it lights as the device does by itself.", "type": "boolean"
                  },
                  "vibrate_config": {
                    "description": "Pauses and vibrations in turn, a pause first.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 10,
                    "items": {"type": "string", "format": "duration", "maximum": 60, "x-writes": "protobuf"}
                  },
                  "visibility": {
                    "description": "What a locked screen shows.",
                    "enum": ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]
                  },
                  "foreground_show": {
                    "description": "false: an app on the screen gets it instead.", "type": "boolean"
                  }
                },
                "checks": [
                  {
                    "when": {"lacks": ["title_loc_key"]}, "refuse": ["title_loc_args"],
                    "message": "'title_loc_key' is missing: which of the app's texts these go into"
                  },
                  {
                    "when": {"lacks": ["body_loc_key"]}, "refuse": ["body_loc_args"],
                    "message": "'body_loc_key' is missing: which of the app's texts these go into"
                  },
                  {
                    "when": {"is": {"style": [1]}},
                    "require": {"big_title": "the title of the long text", "big_body": "the long text"}
                  }
                ]
              }
            }
          },
          "texts": {
            "title": {"key": "notification.title_loc_key", "arguments": "notification.title_loc_args"},
            "body": {"key": "notification.body_loc_key", "arguments": "notification.body_loc_args"}
          },
          "pushes": {
            "kinds": [
              {
                "name": "alert",
                "when": {"anyOf": [{"texts": true}, {"has": ["notification"]}]},
                "nature": "alert",
                "pace": "batch",
                "variants": [
                  {
                    "when": {
                      "any": [
                        "notification.title", "notification.body", "notification.title_loc_key",
                        "notification.body_loc_key"
                      ]
                    },
                    "shows": true
                  }
                ]
              },
              {"name": "data", "nature": "silent", "pace": "latest"}
            ]
          },
          "presentation": [
            {"key": "urgency", "loud": true, "order": ["NORMAL", "HIGH"]},
            {
              "key": "notification",
              "members": [
                {"key": "channel_id", "tells_rule": true},
                {"key": "icon", "tells_rule": true},
                {"key": "color", "tells_rule": true},
                {"key": "sound", "tells_rule": true},
                {"key": "default_sound", "tells_rule": true},
                {"key": "vibrate_config", "tells_rule": true},
                {"key": "use_default_vibrate", "tells_rule": true},
                {"key": "importance", "loud": true, "order": ["LOW", "NORMAL", "HIGH"]},
                {"key": "visibility", "tells_rule": true}
              ]
            }
          ],
          "batch": {
            "of": {"is": {"style": ["notification"]}},
            "members": [
              {"key": "style", "always": "notification"}, {"key": "category"}, {"key": "notification.channel_id"}
            ]
          },
          "limits": {
            "payload": [{"bytes": 4096, "counts": ["/message/data", "/message/android"]}],
            "lifetime_seconds": 1296000
          },
          "sample": {
            "token": "IQAAAACy0example00000000000000000000000000000000000000000000000000000000000000000000000000000000\#
        000000000000000000000000000000",
            "configuration": {"app_id": "100000001", "client_secret": "example"}
          }
        }
        """#
}
