import PluginKit

/// What a broker's codes mean for messages.
enum MQTTReason {
    /// Of a CONNACK that refuses, in 3.1.1 (section 3.2.2.3).
    static func refusal3(_ code: UInt8) -> Outcome {
        switch code {
        case 1: outcome(.misconfigured, code, "protocol-version")
        case 2: outcome(.misconfigured, code, "client-id-refused")
        case 4: outcome(.misconfigured, code, "bad-credentials")
        case 5: outcome(.misconfigured, code, "not-authorized")
        default: outcome(.retry, code, "server-unavailable")
        }
    }

    /// Of a CONNACK that refuses, in 5 (section 3.2.2.2).
    static func refusal5(_ code: UInt8) -> Outcome {
        switch code {
        case 0x84: outcome(.misconfigured, code, "protocol-version")
        case 0x85: outcome(.misconfigured, code, "client-id-refused")
        case 0x86, 0x8C: outcome(.misconfigured, code, "bad-credentials")
        case 0x87: outcome(.misconfigured, code, "not-authorized")
        case 0x8A: outcome(.misconfigured, code, "banned")
        case 0x9C, 0x9D: outcome(.misconfigured, code, "use-another-server")
        case 0x88: outcome(.retry, code, "server-unavailable")
        case 0x89: outcome(.retry, code, "server-busy")
        case 0x97: outcome(.retry, code, "quota-exceeded")
        case 0x9F: outcome(.retry, code, "connection-rate")
        default: outcome(.retry, code, "refused")
        }
    }

    /// Of a PUBACK, in 5 (section 3.4.2.1). The topic is the user's choice, so that none of these concerns all of them,
    /// but for the quota.
    static func acknowledgement(_ code: UInt8) -> Outcome {
        switch code {
        case 0: outcome(.delivered, code, "delivered")
        // Nobody has subscribed, not even somebody who is away.
        case 0x10: outcome(.delivered, code, "no-subscribers")
        case 0x80: Outcome(.retry, status: UInt32(code), reason: "refused", scope: .device)
        case 0x87: outcome(.rejected, code, "not-authorized")
        case 0x90: outcome(.rejected, code, "topic-refused")
        case 0x91: Outcome(.retry, status: UInt32(code), reason: "packet-id-in-use", scope: .device)
        case 0x97: outcome(.retry, code, "quota-exceeded")
        case 0x99: outcome(.rejected, code, "payload-refused")
        default: outcome(.rejected, code, "refused")
        }
    }

    /// Of a DISCONNECT, in 5 (section 3.14.2.1), for all messages under way.
    static func disconnection(_ code: UInt8) -> Outcome {
        switch code {
        case 0x89: outcome(.retry, code, "server-busy")
        case 0x8B: outcome(.retry, code, "server-leaving")
        case 0x8D: outcome(.retry, code, "keep-alive")
        case 0x8E: outcome(.retry, code, "session-taken-over")
        case 0x96: outcome(.retry, code, "message-rate")
        case 0x97: outcome(.retry, code, "quota-exceeded")
        default: outcome(.retry, code, "disconnected")
        }
    }

    private static func outcome(_ kind: Outcome.Kind, _ code: UInt8, _ reason: String) -> Outcome {
        Outcome(kind, status: UInt32(code), reason: reason, scope: kind == .retry ? .transport : .usual)
    }
}
