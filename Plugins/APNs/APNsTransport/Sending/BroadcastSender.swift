import Cipher
import Core
import PluginKit

/// Sends broadcasts: updates and ends of Live Activities, to all devices subscribed to a channel.
final class BroadcastSender: Sendable {
    /// A broadcast in flight.
    private struct Broadcast: Sendable {
        let ticket: Ticket
        let channel: ChannelID
        let environment: Environment
        let proof: Proof
        let push: Push
    }

    private static let payloadLimit = 5120
    /// Two requests fit into the host's time limit for a delivery.
    private static let timeout: Duration = .seconds(25)

    private let client: APNsClient
    private let dispatcher: Dispatcher
    private let urls: PerEnvironment<String>
    private let key: BroadcastKey?

    /// Makes a sender. `key` is the secret that registrations of channels must present; nil: channels cannot be
    /// registered.
    init(_ client: APNsClient, _ dispatcher: Dispatcher, urls: PerEnvironment<String>, key: BroadcastKey?) {
        self.client = client
        self.dispatcher = dispatcher
        self.urls = urls
        self.key = key
    }

    func send(
        _ notification: borrowing Notification,
        _ registration: borrowing Registration,
        _ ticket: Ticket,
        now: Timestamp
    ) throws(PayloadError) -> Acceptance {
        guard let channel = ChannelID(token: registration.token),
            let key, key.isSame(as: registration.field("broadcast_key"))
        else { return .invalid }
        guard let push = try push(notification, now: now) else {
            ticket.complete(Outcome(.rejected, reason: "not-for-channels"))
            return .accepted
        }
        guard let proof = client.credentials.proof(now: now) else { return .failed }
        return send(
            Broadcast(
                ticket: ticket,
                channel: channel,
                environment: client.origins.environment(registration.field("environment")),
                proof: proof,
                push: push
            )
        )
    }

    /// Returns nil unless it is an update or end of a Live Activity. Apple stores nothing unless the rule requests it,
    /// because some channels accept no other expiration.
    private func push(_ notification: borrowing Notification, now: Timestamp) throws(PayloadError) -> Push? {
        guard notification.mode == .alert else { return nil }
        let block = try dispatcher.block(of: notification)
        guard block.pushType(hasText: notification.hasText) == .liveActivity, let activity = block.liveActivity,
            activity.event != .start
        else { return nil }
        return try .liveActivity(
            notification,
            block,
            activity,
            limit: BroadcastSender.payloadLimit,
            lifetime: .zero,
            now: now
        )
    }

    private func send(_ broadcast: Broadcast) -> Acceptance {
        var request = HTTPRequest("POST", url: urls[broadcast.environment], options: .multiplex)
        request.timeout = BroadcastSender.timeout
        request.maxResponseBytes = 4096
        client.authorize(&request, with: broadcast.proof)
        request.addHeader("apns-channel-id", broadcast.channel.text)
        request.addHeader("apns-push-type", broadcast.push.type.rawValue)
        request.addHeader("apns-priority", broadcast.push.priority.headerValue)
        request.addHeader("apns-expiration", String(broadcast.push.expiration))
        if let id = broadcast.push.id {
            request.addHeader("apns-request-id", id)
        }
        request.body = broadcast.push.payload
        return client.host.send(request) { [self] response in
            finish(broadcast, APNsAnswer(response, now: client.now))
        }
    }

    private func finish(_ broadcast: Broadcast, _ answer: APNsAnswer) {
        // A channel without storage accepts only the expiration 0.
        if answer.status == 400, answer.reason == .badExpirationDate, broadcast.push.expiration != 0 {
            return sendUnkept(broadcast)
        }
        let decision = answer.decision(
            forBroadcastAtMainOrigin: broadcast.environment == client.origins.main,
            isPlaceProven: client.provenPlaces.contains(broadcast.environment, .broadcasts)
        )
        switch decision {
        case .expiredProviderToken: broadcast.ticket.complete(client.outcome(ofExpired: broadcast.proof))
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                client.provenPlaces.insert(broadcast.environment, .broadcasts)
            } else if outcome.kind == .rejected, answer.isAboutChannel {
                client.reportPlace("APNs does not know a broadcast channel: check its environment")
            } else if answer.reason == .unrelatedKeyIDInToken {
                client.credentials.leaveConnections(of: broadcast.proof)
            }
            broadcast.ticket.complete(outcome)
        }
    }

    private func sendUnkept(_ broadcast: Broadcast) {
        let unkept = Broadcast(
            ticket: broadcast.ticket,
            channel: broadcast.channel,
            environment: broadcast.environment,
            proof: broadcast.proof,
            push: broadcast.push.unkept
        )
        if case .accepted = send(unkept) { return }
        broadcast.ticket.complete(Outcome(.retry, reason: "not-sent"))
    }
}

/// The secret that a registration of a channel must present, because anyone may register and a broadcast reaches all
/// devices.
struct BroadcastKey: Sendable {
    static let lengths = 16...1024
    /// The format as text, for errors.
    static let description = "a key of \(lengths.lowerBound) to \(lengths.upperBound) bytes"

    private let digest: [UInt8]

    /// Returns nil unless the length of `text`, without a line break at its end, is allowed.
    init?(fileContent text: String) {
        let key = [UInt8](text.withoutLineBreakAtEnd.utf8)
        guard BroadcastKey.lengths.contains(key.count) else { return nil }
        digest = SHA256.hash(key)
    }

    /// Compares in constant time.
    func isSame(as field: BorrowedText?) -> Bool {
        guard let field, BroadcastKey.lengths.contains(field.count) else { return false }
        return ConstantTime.areEqual(SHA256.hash(field.bytes), digest)
    }
}

/// Apple's id of a broadcast channel, in base64. A registration's token is `channel:<base64>` instead of a device
/// token.
struct ChannelID: Sendable, Hashable {
    static let lengths = 4...256
    /// The format as text, for errors.
    static let description =
        "channel: and a channel id in base64, of \(lengths.lowerBound) to \(lengths.upperBound) characters"

    private static let prefix: StaticString = "channel:"

    let text: String

    init?(_ text: String) {
        guard ChannelID.lengths.contains(text.utf8.count), Base64.decode(text) != nil else { return nil }
        self.text = text
    }

    /// Returns nil if the token does not name a valid channel.
    init?(token: BorrowedText) {
        guard ChannelID.isNamed(by: token) else { return nil }
        self.init(String(decoding: token.bytes.dropFirst(ChannelID.prefix.utf8CodeUnitCount), as: UTF8.self))
    }

    /// Whether the token has the prefix of channels.
    static func isNamed(by token: BorrowedText) -> Bool {
        token.bytes.starts(with: UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
    }
}
