/// Describes the platform: `describe` of the plugin ABI (`include/carillon/describe.schema.json`).
public enum MQTTDescription {
    public static let json: StaticString = #"""
        {
          "version": 1,
          "name": "MQTT",
          "block": "mqtt",
          "doc": "Additional members of the published JSON.",
          "target": {"kind": "token", "chosen": true, "expected": "a topic below the operator's, such as phones/alice"},
          "configuration": {
            "doc": "MQTT: JSON to topics at the operator's broker.",
            "schema": {
              "type": "object",
              "properties": {
                "server": {"description": "The broker's name.", "type": "string"},
                "port": {
                  "description": "Default: 8883 (tls) or 1883 (none).", "type": "integer", "minimum": 1,
                  "maximum": 65535
                },
                "security": {
                  "description": "How the connection is encrypted.", "enum": ["tls", "none"], "default": "tls"
                },
                "authority_file": {
                  "description": "A PEM file of CAs to trust instead of the system's.", "type": "string", "file": true
                },
                "version": {
                  "description": "The version of MQTT.", "enum": ["5", "3.1.1"], "default": "5"
                },
                "client_id": {
                  "description": "The client id. Default: the broker assigns one.", "type": "string"
                },
                "username": {"description": "The account at the broker.", "type": "string"},
                "password": {"description": "Its password, as in ${MQTT_PASSWORD}.", "type": "string"},
                "password_file": {
                  "description": "A file that contains only the password, instead of it.", "type": "string",
                  "file": true
                },
                "keep_alive_seconds": {
                  "description": "The keep-alive interval.", "type": "integer", "minimum": 10,
                  "maximum": 1200, "default": 60
                },
                "topic_prefix": {
                  "description": "The prefix of all topics; empty for none.", "type": "string",
                  "default": "carillon"
                },
                "qos": {
                  "description": "1: the broker acknowledges each message. 0: messages may be lost.",
                  "type": "integer", "minimum": 0, "maximum": 1, "default": 1
                },
                "retain": {
                  "description": "Whether the broker keeps the last message of a topic for later subscribers.",
                  "type": "boolean", "default": false
                }
              }
            }
          },
          "rules": {"type": "object"},
          "sample": {
            "token": "phones/sample",
            "configuration": {"server": "mqtt.example.com"}
          }
        }
        """#
}
