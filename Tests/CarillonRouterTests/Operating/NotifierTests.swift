import Cipher
import Core
import Delivery
import Dispatch
import Foundation
import NIOCore
import Nostr
import PlatformTestSupport
import Push
import Registry
import RouterConfiguration
import Rules
import Testing
import TimeTestSupport

@testable import Operations
@testable import Pipeline

/// The events that represent requested notifications.
@Suite final class NotifierTests {
    private static let now: Timestamp = 1_773_446_400_000

    private let folder = NSTemporaryDirectory() + "carillon-notifier-" + UUID().uuidString
    private let identity: KeyPair
    private let registry: Registry
    private let outbox: Outbox
    private let intake = Intake()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        identity = try KeyPair(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: folder + "/registry.sqlite"),
            identity: identity,
            now: { Self.now },
            check: { _ in }
        )
        outbox = try Outbox(path: folder + "/outbox.sqlite")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Returns the event of a request to one account as it reaches the pipeline.
    private func event(isSigned: Bool) async throws -> Event {
        let notifier = Notifier(
            RequestQueue(outbox, intake, timeout: nil, now: { Self.now }),
            registry: registry,
            identity: identity,
            mustSign: { isSigned },
            now: { Self.now }
        )
        let body = Array(#"{"to":{"account":"\#(identity.publicKey.hex)"},"title":"Hello"}"#.utf8)
        async let answer = notifier.send(body, from: Notifier.Origin(sender: "shop", key: nil)) {
            let platforms = KnownPlatforms(.builtIn)
            let terms = try NotifyRequest.Terms(book: .builtIn(platforms: .builtIn), platforms: platforms)
            return try NotifyRequest(ByteBuffer(bytes: body), terms)
        }
        let submission = try #require(await next()?.submissions.first)
        submission.completion([EventDecision(id: nil, .accepted)])
        let event = try Event(json: #require(submission.events.first))
        guard case .sent(let receipt) = try await answer else { throw CancellationError() }
        #expect(receipt.createdAt == Self.now.rfc3339)
        #expect(event.kind == .requestedNotification && event.pubkey == identity.publicKey)
        #expect(event.tags.first == ["p", identity.publicKey.hex])
        return event
    }

    private func next() async -> Arrivals? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [intake] in continuation.resume(returning: intake.next()) }
        }
    }

    @Test func responseHasTheCounts() throws {
        var record = RequestRecord(id: [1], sender: [], key: nil, body: [], createdAt: Self.now)
        #expect(NotifyReceipt(record).json == #"{"created_at":"2026-03-14T00:00:00.000Z","id":"01"}"#)
        #expect(NotifyReceipt.members(nil, unknown: []) == nil)
        record.answer = NotifyReceipt.members(nil, unknown: [DeviceID(rawValue: 7), DeviceID(rawValue: 9)])
        #expect(NotifyReceipt(record).json == #"{"created_at":"2026-03-14T00:00:00.000Z","id":"01","unknown":[7,9]}"#)
        var counts = NotificationOrder.Counts()
        (counts.devices, counts.queued, counts.held, counts.heldUntil) = (3, 1, 2, Self.now)
        #expect(
            NotifyReceipt.members(counts, unknown: [])
                == #"{"devices":3,"queued":1,"held":2,"held_until":"2026-03-14T00:00:00.000Z"}"#
        )
        let order = NotificationOrder(.template("order"))
        order.add(counts)
        order.add(nil)
        #expect(
            NotifyReceipt.members(order.counts, unknown: [])
                == #"{"devices":3,"queued":1,"held":2,"held_until":"2026-03-14T00:00:00.000Z","partial":true}"#
        )
    }

    @Test(arguments: [
        "nostr:%@", "web+nostr:%@", "https://njump.me/%@", "https://njump.me/%@?x=1#top", "  %@\n", "NOSTR:%@",
    ])
    func linksNameEvents(_ link: String) throws {
        let id = try #require(EventID(hex: String(repeating: "0f", count: 32)))
        for name in [id.hex, NIP19.note(id), NIP19.nevent(id), NIP19.nevent(id).uppercased()] {
            #expect(try OperatorWords.event(link.replacing("%@", with: name)) == id)
            #expect(OperatorWords.request(link.replacing("%@", with: name)) == nil)
        }
        let npub = NIP19.npub(identity.publicKey)
        #expect(try OperatorWords.key(link.replacing("%@", with: npub), "account") == identity.publicKey)
        #expect(throws: OperationError.self) { try OperatorWords.event(link.replacing("%@", with: npub)) }
        let request = String(repeating: "0f", count: 16)
        #expect(OperatorWords.request(link.replacing("%@", with: request)) == request)
    }

    @Test func eventsThatOthersSeeAreSigned() async throws {
        try await event(isSigned: true).verify()
    }

    /// The id does not depend on a signature: a repeated request makes the same event.
    @Test func internalEventsHaveAnIDButNoSignature() async throws {
        let event = try await event(isSigned: false)
        #expect(event.id == event.computedID)
        #expect(throws: EventError.wrongSignature) { try event.verify() }
    }
}
