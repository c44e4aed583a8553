import PluginKit
import Testing

@testable import MQTTTransport

/// A broker's codes, row by row (MQTT 3.1.1 section 3.2.2.3; MQTT 5 sections 3.2.2.2, 3.4.2.1 and 3.14.2.1).
struct MQTTReasonTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let code: UInt8
        let kind: Outcome.Kind
        let reason: String
        let scope: Outcome.Scope

        init(_ code: UInt8, _ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope? = nil) {
            (self.code, self.kind, self.reason) = (code, kind, reason)
            self.scope = scope ?? (kind == .retry ? .transport : .usual)
        }

        var testDescription: String { "\(code): \(kind) \(reason)" }
        var outcome: Outcome { Outcome(kind, status: UInt32(code), reason: reason, scope: scope) }
    }

    private static let refusals3: [Row] = [
        Row(1, .misconfigured, "protocol-version"), Row(2, .misconfigured, "client-id-refused"),
        Row(3, .retry, "server-unavailable"), Row(4, .misconfigured, "bad-credentials"),
        Row(5, .misconfigured, "not-authorized"), Row(6, .retry, "server-unavailable"),
    ]

    private static let refusals5: [Row] = [
        Row(0x80, .retry, "refused"), Row(0x81, .retry, "refused"), Row(0x82, .retry, "refused"),
        Row(0x83, .retry, "refused"), Row(0x84, .misconfigured, "protocol-version"),
        Row(0x85, .misconfigured, "client-id-refused"), Row(0x86, .misconfigured, "bad-credentials"),
        Row(0x87, .misconfigured, "not-authorized"), Row(0x88, .retry, "server-unavailable"),
        Row(0x89, .retry, "server-busy"), Row(0x8A, .misconfigured, "banned"),
        Row(0x8C, .misconfigured, "bad-credentials"), Row(0x97, .retry, "quota-exceeded"),
        Row(0x9C, .misconfigured, "use-another-server"), Row(0x9D, .misconfigured, "use-another-server"),
        Row(0x9F, .retry, "connection-rate"),
    ]

    private static let acknowledgements: [Row] = [
        Row(0x00, .delivered, "delivered"), Row(0x10, .delivered, "no-subscribers"),
        Row(0x80, .retry, "refused", .device), Row(0x83, .rejected, "refused"), Row(0x87, .rejected, "not-authorized"),
        Row(0x90, .rejected, "topic-refused"), Row(0x91, .retry, "packet-id-in-use", .device),
        Row(0x97, .retry, "quota-exceeded"), Row(0x99, .rejected, "payload-refused"),
    ]

    private static let disconnections: [Row] = [
        Row(0x00, .retry, "disconnected"), Row(0x81, .retry, "disconnected"), Row(0x89, .retry, "server-busy"),
        Row(0x8B, .retry, "server-leaving"), Row(0x8D, .retry, "keep-alive"), Row(0x8E, .retry, "session-taken-over"),
        Row(0x93, .retry, "disconnected"), Row(0x96, .retry, "message-rate"), Row(0x97, .retry, "quota-exceeded"),
        Row(0x98, .retry, "disconnected"),
    ]

    @Test(arguments: refusals3) func everyReturnCode(_ row: Row) {
        #expect(MQTTReason.refusal3(row.code) == row.outcome)
    }

    @Test(arguments: refusals5) func everyRefusal(_ row: Row) { #expect(MQTTReason.refusal5(row.code) == row.outcome) }

    @Test(arguments: acknowledgements) func everyAcknowledgement(_ row: Row) {
        #expect(MQTTReason.acknowledgement(row.code) == row.outcome)
    }

    @Test(arguments: disconnections) func everyDisconnection(_ row: Row) {
        #expect(MQTTReason.disconnection(row.code) == row.outcome)
    }
}
