import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import RandomTestSupport
import Testing

@testable import CarillonLab

/// Every payload is well-formed and within the size limit. A server as strict as Apple's accepts it, and it shows no
/// more than its mode allows.
struct PropertyTests {
    private static let reasons: Set<String> = ["payload-too-large", "payload-empty"]

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func randomNotificationsAreWellFormed(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let fixture = try TransportFixture()
        var sent: [String: Int] = [:]
        for number in 1...600 {
            let delivery = try RandomDelivery(&random)
            let status = try fixture.deliver(delivery.notification, to: delivery.device, ticket: UInt64(number))
            let place: Comment = "seed \(seed), delivery \(number)"
            guard status == .CARILLON_OK else {
                #expect(status == .CARILLON_UNSUPPORTED, place)
                #expect([.CARILLON_NUDGE, .CARILLON_SEALED].contains(delivery.notification.mode), place)
                sent["unsupported", default: 0] += 1
                continue
            }
            if let outcome = fixture.host.outcomes.last, outcome.ticket == UInt64(number) {
                #expect(outcome.kind == .CARILLON_REJECTED, place)
                #expect(PropertyTests.reasons.contains(outcome.reason), "\(place) \(outcome.reason)")
                sent[outcome.reason, default: 0] += 1
                continue
            }
            let request = try #require(fixture.host.requests.last)
            try checkHeaders(request, place)
            try checkPayload(request, place)
            if delivery.notification.mode != .CARILLON_ALERT {
                try checkMode(delivery.notification, request, place)
            }
            sent[request.headers["apns-push-type"] ?? "", default: 0] += 1
            if request.body.count > 4000 { sent["nearly full", default: 0] += 1 }
        }
        // Each kind of outcome must occur often enough to be significant.
        let seen = Set(sent.filter { $0.value >= 3 }.keys)
        #expect(
            seen.isSuperset(
                of: ["alert", "background", "liveactivity", "unsupported", "payload-too-large", "nearly full"]
                    + RandomDelivery.ownKinds
            ),
            "\(sent)"
        )
    }

    private func checkHeaders(_ request: RecordedRequest, _ place: Comment) throws {
        #expect(Set(request.headerNames).count == request.headerNames.count, place)
        for (name, value) in request.headers {
            #expect(value.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(place) \(name)")
        }
        #expect(request.url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, place)
        #expect(request.url.hasPrefix("https://api."), place)
    }

    private func checkPayload(_ request: RecordedRequest, _ place: Comment) throws {
        let type = try #require(request.headers["apns-push-type"])
        #expect(request.body.count <= (type == "voip" ? 5120 : 4096), place)
        #expect(throws: Never.self, place) { try JSONSerialization.jsonObject(with: Data(request.body)) }
        // The plugin's own reader rejects duplicate members.
        let payload = try JSONObject(parsing: request.bodyText)
        let aps = try #require(payload["aps"]?.object, place)
        if let alert = aps["alert"], alert.isObject { #expect(alert.object != nil, place) }
        let headers = request.headers.map { LabHeader($0.key, $0.value) }
        let judged = LabRequest(method: request.method, uri: "/3/device/", headers: headers, body: request.body)
        #expect(throws: Never.self, place) { try APNsPayload.check(judged, APNsHeaders(checking: judged)) }
    }

    private func checkMode(_ sample: SampleNotification, _ request: RecordedRequest, _ place: Comment) throws {
        let payload = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any] ?? [:]
        let aps = payload["aps"] as? [String: Any] ?? [:]
        switch sample.mode {
        case .CARILLON_WAKE:
            let isSecretShown =
                request.bodyText.contains(HostileText.secret) || request.url.contains(HostileText.secret)
                || request.headers.values.contains { $0.contains(HostileText.secret) }
            #expect(!isSecretShown, place)
            #expect(request.headers["apns-collapse-id"] == nil, place)
            #expect(Set(payload.keys).isSubset(of: ["aps", "t", "n"]), place)
            #expect(Array(aps.keys) == ["content-available"], place)
        // The host has checked that the other members are neutral.
        case .CARILLON_NUDGE:
            #expect(payload["t"] != nil, place)
            #expect(aps["mutable-content"] as? Int == 1, place)
        default:
            #expect((payload["sealed"] as? [String: Any])?["v"] as? Int == 1, place)
            let isShown = request.headers["apns-push-type"] == "alert"
            #expect(aps[isShown ? "mutable-content" : "content-available"] as? Int == 1, place)
        }
    }
}
