/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum UnifiedPushDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "UnifiedPush",
          "block": "unifiedpush",
          "doc": "Further members of the message that an app gets through UnifiedPush.",
          "target": {"kind": "endpoint"},
          "configuration": {
            "doc": "UnifiedPush: endpoints are the users' own; keys are for apps that give one to their distributor.",
            "schema": {
              "type": "object",
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
                }
              }
            }
          },
          "rules": {"type": "object"},
          "limits": {"payload": [{"bytes": 4096}]},
          "sample": {
            "token": "https://push.example.com/sample",
            "fields": {"p256dh": {"generate": "p256dh"}, "auth": {"generate": "auth"}}
          }
        }
        """#
}
