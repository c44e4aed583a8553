/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum FCMDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Firebase Cloud Messaging",
          "block": "fcm",
          "doc": "Members of the message's android object in FCM.",
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
                  "description": "The Firebase project's id. Default: the service account's.",
                  "type": "string"
                },
                "base_url": {
                  "description": "https://host:port to use instead of Google's servers.", "type": "string"
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
              "priority": {"description": "HIGH also wakes a sleeping device.", "enum": ["NORMAL", "HIGH"]},
              "ttl": {
                "description": "How long FCM keeps the message for a device that is off; at most four weeks.",
                "type": "string", "format": "duration", "maximum": 2419200, "x-writes": "protobuf"
              },
              "collapseKey": {
                "description": "FCM keeps only the last message with this key.", "type": "string",
                "minLength": 1
              },
              "restrictedPackageName": {
                "description": "The package name of the app that may receive it.", "type": "string", "minLength": 1
              },
              "directBootOk": {
                "description": "Whether the app may get it before the device is first unlocked.",
                "type": "boolean"
              },
              "bandwidthConstrainedOk": {
                "description": "Whether a bandwidth-constrained network may be used.", "type": "boolean"
              },
              "restrictedSatelliteOk": {
                "description": "Whether a bandwidth-constrained satellite network may be used.", "type": "boolean"
              },
              "notification": {
                "description": "How FCM shows the notification.",
                "type": "object",
                "properties": {
                  "title": {"description": "Replaces the rule's title.", "type": "string"},
                  "body": {
                    "description": "Replaces the rule's body.", "type": "string", "x-place": "paragraph"
                  },
                  "icon": {
                    "description": "The icon: a drawable of the app.", "type": "string", "minLength": 1
                  },
                  "color": {
                    "description": "The icon's colour.", "type": "string", "pattern": "^#[0-9A-Fa-f]{6}$",
                    "x-expected": "a colour as #rrggbb"
                  },
                  "sound": {
                    "description": "A sound of the app, or 'default'.", "type": "string", "minLength": 1
                  },
                  "tag": {
                    "description": "Replaces the notification with the same tag.", "type": "string",
                    "minLength": 1
                  },
                  "clickAction": {
                    "description": "The intent that a tap starts.", "type": "string", "minLength": 1
                  },
                  "bodyLocKey": {
                    "description": "The body: a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "bodyLocArgs": {
                    "description": "Arguments for the string of bodyLocKey.", "type": "array", "minItems": 0,
                    "maxItems": 32, "items": {"type": "string"}
                  },
                  "titleLocKey": {
                    "description": "The title: a string resource of the app.", "type": "string",
                    "minLength": 1
                  },
                  "titleLocArgs": {
                    "description": "Arguments for the string of titleLocKey.", "type": "array",
                    "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                  },
                  "channelId": {
                    "description": "The notification channel.", "type": "string", "minLength": 1
                  },
                  "ticker": {
                    "description": "The text that screen readers read aloud.", "type": "string"
                  },
                  "sticky": {"description": "Whether it stays when it is tapped.", "type": "boolean"},
                  "eventTime": {
                    "description": "The time of the event.", "type": "string",
                    "format": "date-time", "x-writes": "rfc3339"
                  },
                  "localOnly": {
                    "description": "Whether it is shown on this device only.", "type": "boolean"
                  },
                  "notificationPriority": {
                    "description": "How much it may interrupt the user on Android 7 and earlier.",
                    "enum": [
                      "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
                      "PRIORITY_HIGH", "PRIORITY_MAX"
                    ]
                  },
                  "defaultSound": {
                    "description": "Whether the device plays its default sound.", "type": "boolean"
                  },
                  "defaultVibrateTimings": {
                    "description": "Whether the device uses its default vibration.", "type": "boolean"
                  },
                  "defaultLightSettings": {
                    "description": "Whether the device uses its default light.", "type": "boolean"
                  },
                  "vibrateTimings": {
                    "description": "Pauses and vibrations in turn; starts with a pause.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 32,
                    "items": {
                      "type": "string", "format": "duration", "maximum": 3600, "x-writes": "protobuf"
                    }
                  },
                  "visibility": {
                    "description": "How much a locked screen shows.",
                    "enum": ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]
                  },
                  "notificationCount": {
                    "description": "How many items the number on the icon counts.", "type": "integer",
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
                        "description": "How long it is off between flashes.", "type": "string",
                        "format": "duration", "maximum": 3600, "x-writes": "protobuf"
                      }
                    }
                  },
                  "image": {
                    "description": "A picture, of at most 1 MB.", "type": "string", "format": "http-uri"
                  },
                  "proxy": {
                    "description": "Whether another app may show it instead of this app.",
                    "enum": ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]
                  },
                  "bypassProxyNotification": {
                    "description": "Deprecated: forbids other apps to show it instead of this app.",
                    "type": "boolean"
                  }
                },
                "checks": [
                  {
                    "when": {"lacks": ["titleLocKey"]}, "refuse": ["titleLocArgs"],
                    "message": "'titleLocKey' is missing: add the key of the string for these arguments"
                  },
                  {
                    "when": {"lacks": ["bodyLocKey"]}, "refuse": ["bodyLocArgs"],
                    "message": "'bodyLocKey' is missing: add the key of the string for these arguments"
                  }
                ]
              },
              "fcmOptions": {
                "description": "Options of FCM itself.",
                "type": "object",
                "properties": {
                  "analyticsLabel": {
                    "description": "The message's label in statistics.", "type": "string", "minLength": 1
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
