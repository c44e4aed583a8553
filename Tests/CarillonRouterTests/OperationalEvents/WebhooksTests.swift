import Core
import Foundation
import HTTPClient
import Logging
import Testing
import TimeTestSupport

@testable import Operations
@testable import RouterConfiguration

/// The messages that endpoints get, and those that remain after a restart.
@Suite(.timeLimit(.minutes(1))) final class WebhooksTests {
    /// Endpoints whose requests wait until the test responds.
    private final class Endpoints: HTTPSender {
        struct Call: Sendable {
            let url: String
            let id: String?
            let answer: @Sendable (Result<HTTPResponse, HTTPError>) -> Void
        }

        let calls: AsyncStream<Call>
        private let called: AsyncStream<Call>.Continuation

        init() { (calls, called) = AsyncStream.makeStream() }

        func send(
            _ request: consuming HTTPRequest,
            completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
        ) {
            called.yield(
                Call(url: request.url, id: request.headers.first { $0.name == "webhook-id" }?.value, answer: completion)
            )
        }
    }

    private static let noon = Timestamp(seconds: 1_773_446_400)

    private let folder = NSTemporaryDirectory() + "carillon-webhooks-" + UUID().uuidString
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
        try secret.write(toFile: folder + "/secret", atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func webhooks(_ endpoints: Endpoints, _ wanted: [(String, Set<OperationalEventKind>)]) throws -> Webhooks {
        try Webhooks(
            wanted.map { url, events in
                Configuration.OperationalEvents.Webhook(url: url, secretFile: folder + "/secret", events: events)
            },
            path: folder + "/webhooks.sqlite",
            sender: endpoints,
            now: { Self.noon },
            monotonic: { Deadline(milliseconds: 1_000) },
            logger: logger
        )
    }

    private func event(_ kind: OperationalEventKind) -> OperationalEvent {
        OperationalEvent(kind: kind, time: Self.noon, words: "It happened.")
    }

    @Test func endpointGetsItsConfiguredKinds() async throws {
        let endpoints = Endpoints()
        let webhooks = try webhooks(
            endpoints,
            [("https://a.example", [.deviceGone]), ("https://b.example", [.deviceGone, .queuePaused])]
        )
        var calls = endpoints.calls.makeAsyncIterator()
        webhooks.add([event(.queuePaused)])
        let paused = try #require(await calls.next())
        #expect(paused.url == "https://b.example")
        paused.answer(.success(HTTPResponse(status: 200)))
        webhooks.add([event(.deviceGone)])
        let gone = [try #require(await calls.next()), try #require(await calls.next())]
        #expect(Set(gone.map(\.url)) == ["https://a.example", "https://b.example"])
        #expect(gone[0].id == gone[1].id && gone[0].id != paused.id)
    }

    @Test func undeliveredWebhookIsSentAfterARestartUnderItsID() async throws {
        let (before, after) = (Endpoints(), Endpoints())
        let wanted: [(String, Set<OperationalEventKind>)] = [("https://a.example", [.deviceGone])]
        var first: Webhooks? = try webhooks(before, wanted)
        first?.add([event(.deviceGone)])
        var calls = before.calls.makeAsyncIterator()
        let sent = try #require(await calls.next())
        first?.close()
        first = nil

        let second = try webhooks(after, wanted)
        second.begin()
        var again = after.calls.makeAsyncIterator()
        #expect(try #require(await again.next()).id == sent.id)
    }

    @Test func webhookAfterTheStopWaitsForTheNextStart() async throws {
        let (before, after) = (Endpoints(), Endpoints())
        let wanted: [(String, Set<OperationalEventKind>)] = [("https://a.example", [.deviceGone])]
        let first = try webhooks(before, wanted)
        first.stop()
        first.add([event(.deviceGone)])
        first.close()
        let second = try webhooks(after, wanted)
        second.begin()
        var calls = after.calls.makeAsyncIterator()
        #expect(try #require(await calls.next()).url == "https://a.example")
    }

    @Test func deliveredWebhookIsNotSentAgain() async throws {
        let (before, after) = (Endpoints(), Endpoints())
        let wanted: [(String, Set<OperationalEventKind>)] = [("https://a.example", [.deviceGone, .queuePaused])]
        let first = try webhooks(before, wanted)
        var calls = before.calls.makeAsyncIterator()
        first.add([event(.deviceGone), event(.queuePaused)])
        let taken = try #require(await calls.next())
        taken.answer(.success(HTTPResponse(status: 204)))
        // The second message is sent after the first has been accepted.
        let open = try #require(await calls.next())
        first.close()
        let second = try webhooks(after, wanted)
        second.begin()
        var again = after.calls.makeAsyncIterator()
        #expect(try #require(await again.next()).id == open.id)
        #expect(open.id != taken.id)
    }
}
