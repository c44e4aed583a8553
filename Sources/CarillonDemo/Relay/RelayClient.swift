import Foundation
import NIOCore
import Nostr

/// What the phones and friends say to the router's relay socket (NIP-01).
struct RelayClient {
    /// What the router said to an event.
    struct Answer {
        let isAccepted: Bool
        let message: String
    }

    private static let patience = TimeAmount.seconds(10)
    private var socket: WebSocket

    /// `url` is `ws://host:port`.
    init(url: String) async throws {
        guard let parts = URLComponents(string: url), parts.scheme == "ws", let host = parts.host, let port = parts.port
        else { throw DemoError("--relay: expected ws://host:port") }
        do {
            socket = try await WebSocket(host: host, port: port)
        } catch {
            throw DemoError("cannot connect to the router at \(url): \(error)")
        }
    }

    /// Who the router is, by its advertisement (seed 004, kind 10067).
    mutating func router() async throws -> PublicKey {
        guard let subscription = SubscriptionID("router") else { throw DemoError("no name for a subscription") }
        try await socket.send(ClientCommand.request(subscription, [Filter(kinds: [.notificationRelay])]).json)
        while true {
            let message = try await next()
            switch message.said {
            case .event(subscription, let range):
                let event = try Event(json: Array(message.bytes[range]))
                try event.verify()
                return event.pubkey
            case .endOfStoredEvents(subscription):
                throw DemoError("the router does not advertise itself with a kind 10067")
            case .closed(subscription, let reason):
                throw DemoError("the router does not say who it is: \(reason)")
            default: continue
            }
        }
    }

    /// Publishes `event` and waits for what the router says to it.
    mutating func publish(_ event: Event) async throws -> Answer {
        try await socket.send(ClientCommand.publish(event).json)
        while true {
            if case .ok(event.id, let isAccepted, let message) = try await next().said {
                return Answer(isAccepted: isAccepted, message: message)
            }
        }
    }

    private mutating func next() async throws -> (bytes: [UInt8], said: ReceivedRelayMessage) {
        guard let text = await socket.next(patience: Self.patience) else {
            throw DemoError("the router closed the connection, or did not answer within 10 seconds")
        }
        let bytes = Array(text.utf8)
        let said = try bytes.withUnsafeBytes { try ReceivedRelayMessage($0) }
        return (bytes, said)
    }
}
