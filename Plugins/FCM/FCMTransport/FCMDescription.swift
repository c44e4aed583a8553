/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum FCMDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Firebase Cloud Messaging",
          "block": "fcm",
          "doc": "What Android devices get through FCM: members of the message's android object.",
          "target": {"kind": "token", "expected": "the device token from the platform"},
          "configuration": {
            "doc": "FCM: an app on Android.",
            "schema": {
              "type": "object",
              "properties": {
                "service_account": {
                  "description": "The service account's JSON file.", "type": "string", "file": true
                },
                "service_account_json": {
                  "description": "The content of that file instead, as in ${FIREBASE_JSON}.",
                  "anyOf": [{"type": "string"}, {"type": "object"}]
                },
                "project_id": {
                  "description": "The Firebase project's id; the service account's when left out.",
                  "type": "string"
                },
                "base_url": {
                  "description": "https://host:port in place of Google's servers.", "type": "string"
                },
                "direct_boot_ok": {
                  "description": "Whether messages may reach the app before the device is first unlocked. \#
        Default: false.",
                  "type": "boolean"
                }
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "style": {
                "description": "data: the app draws the notification itself; notification: FCM does.",
                "enum": ["data", "notification"], "x-fixed": true
              },
              "priority": {"description": "HIGH wakes a device that sleeps.", "enum": ["NORMAL", "HIGH"]},
              "ttl": {
                "description": "How long FCM keeps the message for a device that is off; at most four weeks.",
                "type": "string", "format": "duration", "maximum": 2419200, "x-writes": "protobuf"
              },
              "collapseKey": {
                "description": "Of messages with this key only the last is kept.", "type": "string",
                "minLength": 1
              },
              "restrictedPackageName": {
                "description": "The one app that may receive the message.", "type": "string", "minLength": 1
              },
              "directBootOk": {
                "description": "Whether the app may get it before the device is first unlocked.",
                "type": "boolean"
              },
              "bandwidthConstrainedOk": {
                "description": "Whether it may use a network of little bandwidth.", "type": "boolean"
              },
              "restrictedSatelliteOk": {
                "description": "Whether it may use a satellite network.", "type": "boolean"
              },
              "notification": {
                "description": "How FCM shows the notification.",
                "type": "object",
                "properties": {
                  "title": {"description": "In place of the rule's title.", "type": "string"},
                  "body": {
                    "description": "In place of the rule's body.", "type": "string", "x-place": "paragraph"
                  },
                  "icon": {
                    "description": "The icon, as a drawable of the app.", "type": "string", "minLength": 1
                  },
                  "color": {
                    "description": "The icon's colour.", "type": "string", "pattern": "^#[0-9A-Fa-f]{6}$",
                    "x-expected": "a colour as #rrggbb"
                  },
                  "sound": {
                    "description": "A sound of the app, or 'default'.", "type": "string", "minLength": 1
                  },
                  "tag": {
                    "description": "Replaces what is shown under the same tag.", "type": "string",
                    "minLength": 1
                  },
                  "clickAction": {
                    "description": "The intent that a tap starts.", "type": "string", "minLength": 1
                  },
                  "bodyLocKey": {
                    "description": "The body, as a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "bodyLocArgs": {
                    "description": "What goes into the text of bodyLocKey.", "type": "array", "minItems": 0,
                    "maxItems": 32, "items": {"type": "string"}
                  },
                  "titleLocKey": {
                    "description": "The title, as a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "titleLocArgs": {
                    "description": "What goes into the text of titleLocKey.", "type": "array",
                    "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                  },
                  "channelId": {
                    "description": "The notification channel.", "type": "string", "minLength": 1
                  },
                  "ticker": {
                    "description": "What is read aloud to people who hear their screen.", "type": "string"
                  },
                  "sticky": {"description": "Whether it stays when it is tapped.", "type": "boolean"},
                  "eventTime": {
                    "description": "When what it tells of happened.", "type": "string",
                    "format": "date-time", "x-writes": "rfc3339"
                  },
                  "localOnly": {
                    "description": "Whether it stays off the person's other devices.", "type": "boolean"
                  },
                  "notificationPriority": {
                    "description": "How much it may interrupt on Android 7 and earlier.",
                    "enum": [
                      "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
                      "PRIORITY_HIGH", "PRIORITY_MAX"
                    ]
                  },
                  "defaultSound": {
                    "description": "Whether it has the device's own sound.", "type": "boolean"
                  },
                  "defaultVibrateTimings": {
                    "description": "Whether it vibrates as the device does by itself.", "type": "boolean"
                  },
                  "defaultLightSettings": {
                    "description": "Whether it lights as the device does by itself.", "type": "boolean"
                  },
                  "vibrateTimings": {
                    "description": "Pauses and vibrations in turn, a pause first.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 32,
                    "items": {
                      "type": "string", "format": "duration", "maximum": 3600, "x-writes": "protobuf"
                    }
                  },
                  "visibility": {
                    "description": "What a locked screen shows.",
                    "enum": ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]
                  },
                  "notificationCount": {
                    "description": "How many the number on the icon counts this for.", "type": "integer",
                    "minimum": 0, "maximum": 2147483647
                  },
                  "lightSettings": {
                    "description": "How the device's light blinks.",
                    "type": "object",
                    "properties": {
                      "color": {
                        "description": "The light's colour.",
                        "type": "object",
                        "properties": {
                          "red": {
                            "description": "How much red, from 0 to 1.", "type": "number", "minimum": 0,
                            "maximum": 1
                          },
                          "green": {
                            "description": "How much green, from 0 to 1.", "type": "number", "minimum": 0,
                            "maximum": 1
                          },
                          "blue": {
                            "description": "How much blue, from 0 to 1.", "type": "number", "minimum": 0,
                            "maximum": 1
                          },
                          "alpha": {
                            "description": "How much alpha, from 0 to 1.", "type": "number", "minimum": 0,
                            "maximum": 1
                          }
                        }
                      },
                      "lightOnDuration": {
                        "description": "How long it is on.", "type": "string", "format": "duration",
                        "maximum": 3600, "x-writes": "protobuf"
                      },
                      "lightOffDuration": {
                        "description": "How long it is off between.", "type": "string",
                        "format": "duration", "maximum": 3600, "x-writes": "protobuf"
                      }
                    }
                  },
                  "image": {
                    "description": "A picture, of at most 1 MB.", "type": "string", "format": "http-uri"
                  },
                  "proxy": {
                    "description": "Whether another app may show it in this one's place.",
                    "enum": ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]
                  },
                  "bypassProxyNotification": {
                    "description": "Old: whether no other app may show it in this one's place.",
                    "type": "boolean"
                  }
                },
                "checks": [
                  {
                    "when": {"lacks": ["titleLocKey"]}, "refuse": ["titleLocArgs"],
                    "message": "'titleLocKey' is missing: which of the app's texts these go into"
                  },
                  {
                    "when": {"lacks": ["bodyLocKey"]}, "refuse": ["bodyLocArgs"],
                    "message": "'bodyLocKey' is missing: which of the app's texts these go into"
                  }
                ]
              },
              "fcmOptions": {
                "description": "What FCM does besides.",
                "type": "object",
                "properties": {
                  "analyticsLabel": {
                    "description": "What statistics call the message.", "type": "string", "minLength": 1
                  }
                }
              }
            }
          },
          "texts": {
            "title": {"key": "notification.titleLocKey", "arguments": "notification.titleLocArgs"},
            "body": {"key": "notification.bodyLocKey", "arguments": "notification.bodyLocArgs"}
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
                        "notification.title", "notification.body", "notification.titleLocKey",
                        "notification.bodyLocKey"
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
            {"key": "priority", "loud": true, "order": ["NORMAL", "HIGH"]},
            {
              "key": "notification",
              "members": [
                {"key": "channelId", "tells_rule": true},
                {"key": "icon", "tells_rule": true},
                {"key": "color", "tells_rule": true},
                {"key": "sound", "tells_rule": true},
                {"key": "defaultSound", "tells_rule": true},
                {"key": "vibrateTimings", "tells_rule": true},
                {"key": "defaultVibrateTimings", "tells_rule": true},
                {"key": "notificationPriority", "tells_rule": true},
                {"key": "notificationCount", "tells_rule": true},
                {"key": "visibility", "tells_rule": true}
              ]
            }
          ],
          "batch": {
            "of": {"is": {"style": ["notification"]}},
            "members": [{"key": "style", "always": "notification"}, {"key": "notification.channelId"}]
          },
          "limits": {
            "payload": [{"bytes": 4096, "counts": ["/message/data", "/message/notification"]}],
            "lifetime_seconds": 2419200
          },
          "sample": {
            "token": "cExampleInstance:APA91b0000000000000000000000000000000000000000000000000000000000000000000000\#
        00000000000000000000000000000000000000000000000000",
            "configuration": {
              "service_account_json": {
                "type": "service_account", "project_id": "example-project", "private_key_id": "example",
                "private_key": {"generate": "rsa-pem"},
                "client_email": "carillon@example-project.iam.gserviceaccount.com",
                "token_uri": "https://oauth2.googleapis.com/token"
              }
            }
          }
        }
        """#
}
