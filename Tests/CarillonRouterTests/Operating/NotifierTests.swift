import Cipher
import Delivery
import Dispatch
import Foundation
import NIOCore
import Nostr
import PlatformTestSupport
import Registry
import RouterConfiguration
import Rules
import Testing
import TimeTestSupport
import Units

@testable import Operations
@testable import Pipeline

/// The events that stand for requested notifications.
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

    /// What reaches the pipeline of a request to one account.
    private func event(isSigned: Bool) async throws -> Event {
        let notifier = Notifier(
            outbox: outbox,
            registry: registry,
            intake: intake,
            identity: identity,
            mustSign: { isSigned },
            now: { Self.now }
        )
        let body = Array(#"{"to":{"account":"\#(identity.publicKey.hex)"},"title":"Hello"}"#.utf8)
        async let receipt = notifier.send(body, from: Notifier.Origin(sender: "shop", key: nil)) {
            let platforms = KnownPlatforms(.builtIn)
            let terms = try NotifyRequest.Terms(book: .builtIn(platforms: .builtIn), platforms: platforms)
            return try NotifyRequest(ByteBuffer(bytes: body), terms)
        }
        let submission = try #require(await next()?.submissions.first)
        submission.completion([EventVerdict(id: nil, .accepted)])
        let event = try Event(json: #require(submission.events.first))
        #expect(try await receipt.createdAt == Self.now)
        #expect(event.kind == .requestedNotification && event.pubkey == identity.publicKey)
        #expect(event.tags.first == ["p", identity.publicKey.hex])
        return event
    }

    private func next() async -> Arrivals? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [intake] in continuation.resume(returning: intake.next()) }
        }
    }

    @Test func eventsThatOthersSeeAreSigned() async throws {
        try await event(isSigned: true).verify()
    }

    /// Its id is what it would be otherwise: a request that comes again makes the same event.
    @Test func eventsThatNobodyElseSeesHaveTheirIDAlone() async throws {
        let event = try await event(isSigned: false)
        #expect(event.id == event.computedID)
        #expect(throws: EventError.wrongSignature) { try event.verify() }
    }
}
