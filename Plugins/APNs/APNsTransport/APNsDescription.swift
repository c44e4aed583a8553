/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum APNsDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "Apple Push Notification service",
          "block": "apns",
          "doc": "Members of the aps dictionary for Apple devices. They override the router's own.",
          "target": {"kind": "token", "expected": "the device token from the platform"},
          "fields": [
            {
              "name": "environment", "secret": false,
              "doc": "production or sandbox: the Apple server that knows the device. Default: the \#
        configuration's."
            },
            {
              "name": "live_activity_token", "for": "liveactivity",
              "doc": "The token of a running Live Activity."
            },
            {
              "name": "live_activity_start_token", "for": "liveactivity",
              "doc": "The token that starts Live Activities."
            },
            {"name": "voip_token", "for": "voip", "doc": "The token for calls."},
            {
              "name": "location_token", "for": "location",
              "doc": "The token for location queries."
            },
            {
              "name": "complication_token", "for": "complication",
              "doc": "The token for watch complications."
            },
            {
              "name": "fileprovider_token", "for": "fileprovider",
              "doc": "The token of the file provider extension."
            },
            {"name": "pushtotalk_token", "for": "pushtotalk", "doc": "The token for push-to-talk."},
            {"name": "widgets_token", "for": "widgets", "doc": "The token for widgets."},
            {"name": "controls_token", "for": "controls", "doc": "The token for controls."},
            {"name": "mdm_token", "for": "mdm", "doc": "The token of a managed device."},
            {
              "name": "mdm_push_magic", "for": "mdm",
              "doc": "The push magic string of a managed device; set it together with mdm_token."
            },
            {"name": "broadcast_key", "doc": "The operator's key, in registrations of a broadcast channel."}
          ],
          "configuration": {
            "doc": "APNs: an app on Apple's systems.",
            "schema": {
              "type": "object",
              "required": ["topic"],
              "properties": {
                "topic": {"description": "The app's bundle id.", "type": "string"},
                "team_id": {"description": "The team's id, 10 letters and digits.", "type": "string"},
                "key_id": {"description": "The key's id, 10 letters and digits.", "type": "string"},
                "key_file": {"description": "Apple's .p8 file with the key.", "type": "string", "file": true},
                "key": {
                  "description": "The content of key_file instead of its path, such as ${APNS_KEY}.", "type": "string"
                },
                "certificate_file": {
                  "description": "A push certificate instead of a key, as PEM or .p12.",
                  "type": "string", "file": true
                },
                "certificate_key_file": {
                  "description": "The certificate's private key in PEM, if it is in another file.", "type": "string",
                  "file": true
                },
                "certificate_password_file": {
                  "description": "A file with the certificate's or key's passphrase.", "type": "string", "file": true
                },
                "environment": {
                  "description": "The environment for registrations that set none. Default: production.",
                  "enum": ["production", "sandbox"]
                },
                "base_url": {"description": "https://host:port to use instead of Apple's servers.", "type": "string"},
                "sandbox": {
                  "description": "https://host:port to use instead of Apple's sandbox server.",
                  "type": "string"
                },
                "port": {"description": "The port of Apple's servers. Default: 443.", "enum": [443, 2197]},
                "try_other_environment": {
                  "description": "Whether a device unknown in one environment is tried once in the other. \#
        Default: false.",
                  "type": "boolean"
                },
                "broadcast_key_file": {
                  "description": "A file with the key that registrations of broadcast channels must contain.",
                  "type": "string", "file": true
                },
                "broadcast_management": {
                  "description": "https://host:port to use instead of Apple's channel management server.",
                  "type": "string"
                }
              }
            },
            "environment": {
              "APNS_KEY_ID": {
                "key": "key_id", "doc": "the id of Apple's key", "required": true, "distinctive": true
              },
              "APNS_AUTH_KEY": {
                "key": "key", "doc": "the content of Apple's .p8 file", "required": true, "newlines": true,
                "distinctive": true
              },
              "APPLE_TEAM_ID": {
                "key": "team_id", "doc": "the id of the developer team", "required": true,
                "distinctive": true
              },
              "TOPIC": {"key": "topic", "doc": "the app's bundle id", "required": true},
              "CARILLON_APNS_ENVIRONMENT": {"key": "environment", "doc": "production (default) or sandbox"},
              "CARILLON_APNS_BASE_URL": {
                "key": "base_url", "doc": "https://host:port to use instead of Apple's servers"
              }
            }
          },
          "rules": {
            "type": "object",
            "properties": {
              "alert": {
                "description": "The alert. A dictionary is merged into the rule's texts; a string replaces them.",
                "anyOf": [
                  {"type": "string", "x-place": "paragraph"},
                  {
                    "type": "object",
                    "properties": {
                      "title": {
                        "description": "Replaces the rule's title.",
                        "anyOf": [
                          {"type": "string"},
                          {
                            "type": "object",
                            "properties": {
                              "loc-key": {
                                "description": "Live Activities: a key of the app's localized strings.",
                                "type": "string", "minLength": 1
                              },
                              "loc-args": {
                                "description": "Live Activities: arguments for the string of loc-key.",
                                "type": "array", "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                              }
                            }
                          }
                        ]
                      },
                      "subtitle": {"description": "Replaces the rule's subtitle.", "type": "string"},
                      "body": {
                        "description": "Replaces the rule's body.",
                        "anyOf": [
                          {"type": "string", "x-place": "paragraph"},
                          {
                            "type": "object",
                            "properties": {
                              "loc-key": {
                                "description": "Live Activities: a key of the app's localized strings.",
                                "type": "string", "minLength": 1
                              },
                              "loc-args": {
                                "description": "Live Activities: arguments for the string of loc-key.",
                                "type": "array", "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                              }
                            }
                          }
                        ]
                      },
                      "launch-image": {
                        "description": "An image in the app, shown while it launches.", "type": "string",
                        "minLength": 1
                      },
                      "title-loc-key": {
                        "description": "The title: a key of the app's localized strings.", "type": "string",
                        "minLength": 1
                      },
                      "title-loc-args": {
                        "description": "Arguments for the string of title-loc-key.", "type": "array",
                        "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                      },
                      "subtitle-loc-key": {
                        "description": "The subtitle: a key of the app's localized strings.", "type": "string",
                        "minLength": 1
                      },
                      "subtitle-loc-args": {
                        "description": "Arguments for the string of subtitle-loc-key.", "type": "array",
                        "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                      },
                      "loc-key": {
                        "description": "The body: a key of the app's localized strings.", "type": "string",
                        "minLength": 1
                      },
                      "loc-args": {
                        "description": "Arguments for the string of loc-key.", "type": "array",
                        "minItems": 0, "maxItems": 32, "items": {"type": "string"}
                      },
                      "action-loc-key": {
                        "description": "Deprecated: the key of the button's label; null hides the button.",
                        "type": ["string", "null"]
                      },
                      "action": {
                        "description": "Deprecated: the button's label in Safari website pushes.",
                        "type": "string"
                      },
                      "summary-arg": {
                        "description": "Deprecated: the text that the summary of a group shows.", "type": "string"
                      },
                      "summary-arg-count": {
                        "description": "Deprecated: how many items the summary counts.", "type": "integer",
                        "minimum": 1, "maximum": 2147483647
                      },
                      "sound": {
                        "description": "Live Activities: the sound. Other alerts set it next to 'alert'.",
                        "anyOf": [
                          {"type": "string", "minLength": 1},
                          {
                            "type": "object",
                            "properties": {
                              "critical": {
                                "description": "1 plays on a muted device; requires an entitlement from Apple.",
                                "type": "boolean", "x-writes": "one-or-zero"
                              },
                              "name": {
                                "description": "A sound file of the app, or 'default'.", "type": "string",
                                "minLength": 1
                              },
                              "volume": {
                                "description": "The volume, from 0 (silent) to 1 (full).", "type": "number",
                                "minimum": 0, "maximum": 1
                              }
                            }
                          }
                        ]
                      }
                    },
                    "checks": [
                      {
                        "when": {"lacks": ["title-loc-key"]}, "refuse": ["title-loc-args"],
                        "message": "'title-loc-key' is missing: add the key of the string for these arguments"
                      },
                      {
                        "when": {"lacks": ["subtitle-loc-key"]}, "refuse": ["subtitle-loc-args"],
                        "message": "'subtitle-loc-key' is missing: add the key of the string for these arguments"
                      },
                      {
                        "when": {"lacks": ["loc-key"]}, "refuse": ["loc-args"],
                        "message": "'loc-key' is missing: add the key of the string for these arguments"
                      }
                    ]
                  }
                ]
              },
              "badge": {
                "description": "The number on the app's icon; 0 removes it.", "type": "integer",
                "minimum": 0, "maximum": 2147483647
              },
              "sound": {
                "description": "A sound file of the app, 'default', or a dictionary for a critical alert.",
                "anyOf": [
                  {"type": "string", "minLength": 1},
                  {
                    "type": "object",
                    "properties": {
                      "critical": {
                        "description": "1 plays on a muted device; requires an entitlement from Apple.",
                        "type": "boolean", "x-writes": "one-or-zero"
                      },
                      "name": {
                        "description": "A sound file of the app, or 'default'.", "type": "string",
                        "minLength": 1
                      },
                      "volume": {
                        "description": "The volume, from 0 (silent) to 1 (full).", "type": "number", "minimum": 0,
                        "maximum": 1
                      }
                    }
                  }
                ]
              },
              "thread-id": {
                "description": "Groups notifications. Default: the rule's 'thread'.", "type": "string"
              },
              "category": {
                "description": "A notification category that the app registered; it selects the buttons.",
                "type": "string",
                "minLength": 1,
                "x-buttons": {
                  "reserved": "com.klaviyo.",
                  "predefined": {
                    "com.klaviyo.category.acceptDecline": [
                      "com.klaviyo.action.accept", "com.klaviyo.action.decline"
                    ],
                    "com.klaviyo.category.yesNo": ["com.klaviyo.action.yes", "com.klaviyo.action.no"],
                    "com.klaviyo.category.confirmCancel": [
                      "com.klaviyo.action.confirm", "com.klaviyo.action.cancel"
                    ],
                    "com.klaviyo.category.viewDismiss": [
                      "com.klaviyo.action.view", "com.klaviyo.action.dismiss"
                    ]
                  },
                  "actions": "actions"
                }
              },
              "content-available": {
                "description": "1 wakes the app in the background.", "type": "boolean",
                "x-writes": "one-or-zero"
              },
              "mutable-content": {
                "description": "1 lets the app's notification service extension change the notification before it \#
        is shown.",
                "type": "boolean", "x-writes": "one-or-zero"
              },
              "target-content-id": {"description": "The window that the app brings to the front.", "type": "string"},
              "interruption-level": {
                "description": "How much the notification may interrupt the user.",
                "enum": ["passive", "active", "time-sensitive", "critical"]
              },
              "relevance-score": {
                "description": "Ranks the app's notifications in the summary, from 0 to 1; any number for Live \#
        Activities.",
                "type": "number"
              },
              "filter-criteria": {"description": "The criteria that Focus filters evaluate.", "type": "string"},
              "content-changed": {
                "description": "Widgets and controls: that they should ask for what is new; theirs always have it.",
                "type": "boolean"
              },
              "url-args": {
                "description": "Safari website pushes: arguments for the URL.", "type": "array",
                "minItems": 0, "maxItems": 32, "items": {"type": "string"}
              },
              "event": {
                "description": "Whether to start, update or end the Live Activity.", "x-alias": "events",
                "enum": ["start", "update", "end"], "x-fixed": true
              },
              "content-state": {
                "description": "The Live Activity's new state for the app to decode; not sent if variables \#
        leave it incomplete.",
                "x-essential": true, "type": "object", "x-complete": true
              },
              "stale-date": {
                "description": "When the Live Activity becomes stale.", "type": "string",
                "format": "date-time", "x-writes": "unix-seconds"
              },
              "dismissal-date": {
                "description": "When an ended Live Activity disappears. Default: after up to 4h.",
                "type": "string", "format": "date-time", "x-writes": "unix-seconds"
              },
              "timestamp": {
                "description": "When this update was made; devices ignore older updates. Default: now.",
                "type": "string", "format": "date-time", "x-writes": "unix-seconds"
              },
              "attributes-type": {
                "description": "The Live Activity's type, to start one.", "x-essential": true,
                "type": "string", "minLength": 1
              },
              "attributes": {
                "description": "The Live Activity's fixed content, to start one; not sent if variables leave it \#
        incomplete.",
                "x-essential": true, "type": "object", "x-complete": true
              },
              "input-push-token": {
                "description": "1 requests a token for updates of the new activity; iOS 18 and later.",
                "type": "boolean", "x-writes": "one-or-zero"
              },
              "input-push-channel": {
                "description": "The broadcast channel for updates of the new activity; iOS 18 and later.",
                "type": "string", "format": "base64"
              },
              "push-type": {
                "description": "The kind of push. Default: depends on the other keys. All except alert and \#
        background go to a separate token; devices without it get the alert.",
                "enum": [
                  "alert", "background", "location", "voip", "complication", "fileprovider", "mdm",
                  "liveactivity", "pushtotalk", "widgets", "controls"
                ],
                "x-fixed": true
              },
              "priority": {
                "description": "10: immediately, 5: when the device's power allows, 1: save power first.",
                "enum": [1, 5, 10]
              },
              "actions": {
                "description": "The URLs that buttons of 'category' open, by the button's identifier.",
                "type": "object",
                "additionalProperties": {
                  "type": "object",
                  "properties": {
                    "url": {"description": "The URL that this button opens.", "type": "string", "format": "uri"}
                  }
                }
              },
              "_k": {
                "description": "The notification's unique identifier for the app. Default: the router's id.",
                "type": "string", "minLength": 1
              }
            },
            "checks": [
              {
                "when": {"kind": ["liveactivity"], "lacks": ["event", "content-state"]},
                "refuse": ["push-type"],
                "message": "a Live Activity needs 'event' (start, update or end) and 'content-state'"
              },
              {
                "when": {"kind": ["liveactivity"], "has": ["event"], "not": {"is": {"event": ["end"]}}},
                "require": {"content-state": "the Live Activity's new state"},
                "at": ["event"]
              },
              {
                "when": {"kind": ["liveactivity"], "is": {"event": ["start"]}},
                "require": {
                  "attributes-type": "the type of the new activity",
                  "attributes": "the fixed content of the new activity"
                },
                "at": ["event"]
              },
              {
                "when": {"kind": ["liveactivity"], "is": {"event": ["start"]}, "texts": false},
                "require": {"alert": "the alert that a new Live Activity shows"},
                "at": ["event"]
              },
              {
                "when": {
                  "kind": ["liveactivity"], "any": ["event", "content-state"],
                  "not": {"is": {"event": ["start"]}}
                },
                "refuse": ["attributes-type", "attributes", "input-push-token", "input-push-channel"],
                "message": "allowed only with 'event: start'"
              },
              {
                "when": {
                  "kind": ["liveactivity"], "any": ["event", "content-state"],
                  "not": {"is": {"event": ["end"]}}
                },
                "refuse": ["dismissal-date"],
                "message": "allowed only with 'event: end'"
              },
              {
                "when": {"kind": ["liveactivity"], "any": ["event", "content-state"]},
                "refuse": [
                  "badge", "category", "actions", "_k", "thread-id", "content-available", "mutable-content",
                  "target-content-id", "interruption-level", "filter-criteria", "url-args"
                ],
                "message": "not allowed in a Live Activity"
              },
              {
                "when": {"kind": ["liveactivity"], "any": ["event", "content-state"]},
                "refuse": [
                  "alert.subtitle", "alert.subtitle-loc-key", "alert.subtitle-loc-args",
                  "alert.launch-image", "alert.action-loc-key", "alert.action", "alert.summary-arg",
                  "alert.summary-arg-count"
                ],
                "message": "not allowed in the alert of a Live Activity"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}, "has": ["push-type"]},
                "refuse": [
                  "event", "content-state", "stale-date", "dismissal-date", "timestamp", "attributes-type",
                  "attributes", "input-push-token", "input-push-channel"
                ],
                "message": "allowed only in a Live Activity, not with 'push-type: {push-type}'"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}, "lacks": ["push-type"]},
                "refuse": [
                  "event", "content-state", "stale-date", "dismissal-date", "timestamp", "attributes-type",
                  "attributes", "input-push-token", "input-push-channel"
                ],
                "message": "allowed only in a Live Activity: add 'event' (start, update or end)"
              },
              {
                "when": {"is": {"push-type": ["alert"]}, "texts": false, "lacks": ["alert", "badge", "sound"]},
                "refuse": ["push-type"],
                "message": "an alert shows something: expected an alert, a badge, a sound or the rule's texts"
              },
              {
                "when": {"is": {"push-type": ["background"]}}, "refuse": ["alert", "badge", "sound"],
                "message": "not allowed in a background push: use 'push-type: alert'"
              },
              {
                "when": {"is": {"push-type": ["background"]}},
                "refuse": ["rule.title.loc-key", "rule.subtitle.loc-key", "rule.body.loc-key"],
                "message": "not allowed in the rule's background push: use 'push-type: alert'"
              },
              {
                "allow": {"content-available": [1]},
                "message": "1 wakes the app in the background; remove 'content-available' if it must not"
              },
              {
                "when": {"kind": ["background"]}, "allow": {"priority": [5]},
                "message": "background pushes require priority 5"
              },
              {
                "when": {"kind": ["liveactivity"]}, "allow": {"priority": [5, 10]},
                "message": "Live Activities require priority 5 or 10"
              },
              {
                "when": {"kind": ["pushtotalk"]}, "allow": {"priority": [10]},
                "message": "push-to-talk requires priority 10"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}}, "refuse": ["alert.sound"],
                "message": "only Live Activities allow a sound here: move it next to 'alert'"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}, "object": ["alert.title"]},
                "refuse": ["alert.title"],
                "message": "only Live Activities allow a dictionary here: use title-loc-key"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}, "object": ["alert.body"]},
                "refuse": ["alert.body"],
                "message": "only Live Activities allow a dictionary here: use loc-key"
              },
              {
                "when": {
                  "is": {"mutable-content": [1]},
                  "anyOf": [{"texts": false, "lacks": ["alert"]}, {"is": {"push-type": ["background"]}}]
                },
                "refuse": ["mutable-content"],
                "message": "only an alert can be changed before it is shown: expected an alert or the rule's texts"
              },
              {
                "when": {"is": {"mutable-content": [0]}, "has": ["rule.actions"]},
                "refuse": ["mutable-content"],
                "message": "expected 1, because the app's notification service extension adds the rule's buttons"
              },
              {
                "when": {"not": {"kind": ["widgets", "controls"]}}, "refuse": ["content-changed"],
                "message": "allowed only with 'push-type: widgets' and 'push-type: controls'"
              },
              {
                "when": {"kind": ["widgets", "controls"]}, "allow": {"content-changed": [true]},
                "message": "expected true with 'push-type: {kind}'"
              },
              {
                "when": {"not": {"kind": ["liveactivity"]}}, "range": {"relevance-score": [0, 1]},
                "message": "expected a number from 0 to 1; only Live Activities allow others"
              },
              {
                "when": {"summary": true}, "allow": {"push-type": ["alert"]},
                "message": "expected alert, because this notification is not about a single event"
              },
              {
                "when": {"summary": true}, "refuse": ["event", "content-state"],
                "message": "allowed only in a rule, because a Live Activity is about one event"
              }
            ]
          },
          "default_block": {"badge": 1, "sound": "default", "mutable-content": 1},
          "reserved_data": {"aps": "Apple's own keys belong in 'apns'"},
          "texts": {
            "title": {"key": "alert.title-loc-key", "arguments": "alert.title-loc-args"},
            "subtitle": {"key": "alert.subtitle-loc-key", "arguments": "alert.subtitle-loc-args"},
            "body": {"key": "alert.loc-key", "arguments": "alert.loc-args"}
          },
          "pushes": {
            "background_per_hour": 3,
            "kinds": [
              {
                "name": "liveactivity",
                "when": {
                  "anyOf": [
                    {"is": {"push-type": ["liveactivity"]}},
                    {"lacks": ["push-type"], "any": ["event", "content-state"]}
                  ]
                },
                "nature": "special",
                "pace": "latest",
                "shows": false,
                "variants": [
                  {"when": {"is": {"event": ["start", "end"]}}, "pace": "immediate", "fixed": true},
                  {
                    "when": {"anyOf": [{"is": {"event": ["start"]}}, {"any": ["alert", "sound"]}]},
                    "shows": true
                  }
                ]
              },
              {
                "name": "background",
                "when": {
                  "anyOf": [
                    {"is": {"push-type": ["background"]}},
                    {
                      "lacks": ["push-type", "alert", "badge", "sound"],
                      "is": {"content-available": [1]},
                      "texts": false
                    }
                  ]
                },
                "nature": "silent",
                "pace": "latest",
                "shows": false
              },
              {
                "name": "voip", "when": {"is": {"push-type": ["voip"]}}, "nature": "special",
                "pace": "immediate", "shows": true
              },
              {
                "name": "pushtotalk", "when": {"is": {"push-type": ["pushtotalk"]}}, "nature": "special",
                "pace": "latest", "shows": true
              },
              {
                "name": "location", "when": {"is": {"push-type": ["location"]}}, "nature": "special",
                "pace": "latest", "shows": false
              },
              {
                "name": "complication", "when": {"is": {"push-type": ["complication"]}},
                "nature": "special", "pace": "latest", "shows": false
              },
              {
                "name": "fileprovider", "when": {"is": {"push-type": ["fileprovider"]}},
                "nature": "special", "pace": "latest", "shows": false
              },
              {
                "name": "mdm", "when": {"is": {"push-type": ["mdm"]}}, "nature": "special",
                "pace": "latest", "shows": false
              },
              {
                "name": "widgets", "when": {"is": {"push-type": ["widgets"]}}, "nature": "special",
                "pace": "latest", "shows": false
              },
              {
                "name": "controls", "when": {"is": {"push-type": ["controls"]}}, "nature": "special",
                "pace": "latest", "shows": false
              },
              {
                "name": "alert",
                "nature": "alert",
                "pace": "batch",
                "variants": [
                  {
                    "when": {"texts": false, "lacks": ["alert"], "any": ["badge", "sound"]},
                    "name": "badge", "nature": "special", "pace": "latest"
                  },
                  {
                    "when": {"texts": false, "lacks": ["alert", "badge", "sound"]}, "name": "data",
                    "nature": "silent", "pace": "latest"
                  },
                  {"when": {"has": ["alert"]}, "shows": true}
                ]
              }
            ]
          },
          "presentation": [
            {"key": "sound", "loud": true, "tells_rule": true, "sealed": "default"},
            {"key": "badge"},
            {
              "key": "interruption-level",
              "loud": true,
              "order": ["passive", "active", "time-sensitive", "critical"],
              "absent": "active"
            },
            {"key": "category", "tells_rule": true},
            {"key": "priority", "loud": true, "order": [1, 5, 10]}
          ],
          "batch": {
            "shown": true,
            "members": [
              {"key": "mutable-content", "always": 1},
              {"key": "sound", "differing": "default", "unless_all": "default", "quiet": null},
              {"key": "badge", "differing": 1},
              {"key": "interruption-level", "unless_all": null, "quiet": "passive"}
            ]
          },
          "limits": {
            "payload": [{"bytes": 5120, "when_header": {"apns-push-type": "voip"}}, {"bytes": 4096}]
          },
          "ingress": {
            "block": {"alert": {"loc-key": "{{loc_key}}"}, "mutable-content": 1},
            "limit": 4096,
            "fields": {"sandbox": {"environment": "sandbox"}}
          },
          "sample": {
            "token": "0000000000000000000000000000000000000000000000000000000000000000",
            "fields": {
              "live_activity_token": "0101010101010101010101010101010101010101010101010101010101010101",
              "voip_token": "0202020202020202020202020202020202020202020202020202020202020202",
              "location_token": "0303030303030303030303030303030303030303030303030303030303030303",
              "complication_token": "0404040404040404040404040404040404040404040404040404040404040404",
              "fileprovider_token": "0505050505050505050505050505050505050505050505050505050505050505",
              "pushtotalk_token": "0606060606060606060606060606060606060606060606060606060606060606",
              "widgets_token": "0707070707070707070707070707070707070707070707070707070707070707",
              "controls_token": "0808080808080808080808080808080808080808080808080808080808080808"
            },
            "configuration": {
              "topic": "com.example.app", "team_id": "TEAMID1234", "key_id": "KEYID12345",
              "key": {"generate": "p256-pem"}
            }
          }
        }
        """#
}
