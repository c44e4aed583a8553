import Core
import PluginKit
import Synchronization

/// A notification's push, its token, and the push that replaces it if that token is dead.
struct Dispatch {
    var push: Push
    /// The push's separate token, borrowed from the registration; nil: the device token.
    var token: BorrowedText?
    /// The ordinary alert to the device token, or the reason why there is none; only for pushes to a separate token.
    var alert: Result<Push, PayloadError>?

    init(_ push: Push) {
        self.push = push
    }

    /// Makes the alert now, because the notification is no longer available when it is needed.
    init(_ push: Push, to token: BorrowedText, else alert: () throws(PayloadError) -> Push) {
        self.push = push
        self.token = token
        do throws(PayloadError) {
            self.alert = .success(try alert())
        } catch {
            self.alert = .failure(error)
        }
    }
}

/// Selects the push for a notification, and the token of the registration that it goes to.
final class Dispatcher: Sendable {
    private let topics: Topics
    private let host: Host
    private let blocks = ReadTexts<NativeBlock>()
    private let alerts = RepeatedPayload()
    /// The times when tokens other than device tokens were found dead.
    private let deadTokens = TokenMemory<Timestamp>()
    private let hasReportedCoverage = Atomic(false)

    init(topics: Topics, host: Host) {
        self.topics = topics
        self.host = host
    }

    /// Returns nil for an unsupported mode.
    func dispatch(
        _ notification: borrowing Notification,
        to registration: borrowing Registration,
        now: Timestamp
    ) throws(PayloadError) -> Dispatch? {
        switch notification.mode {
        case .wake: return Dispatch(try .wake(notification, now: now))
        case .nudge:
            return try Push.nudge(notification, try block(of: notification), alerts, now: now).map(Dispatch.init)
        case .sealed:
            return try Push.sealed(notification, try block(of: notification), alerts, now: now).map(Dispatch.init)
        case .alert: return try whole(notification, try block(of: notification), to: registration, now: now)
        case nil: return nil
        }
    }

    /// The rule's block for this platform.
    func block(of notification: borrowing Notification) throws(PayloadError) -> NativeBlock {
        let native = notification.native
        return native.isEmpty ? .empty : try blocks.value(of: native, NativeBlock.init)
    }

    /// Marks a token other than the device token as dead. It is not tried again until the device registers again.
    func forget(_ token: TokenKey, now: Timestamp) {
        deadTokens.remember(now, of: token)
    }

    /// Returns the whole notification, as the type of push that the rule's block selects. If the device accepts no
    /// pushes of that type, returns an alert.
    private func whole(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        to registration: borrowing Registration,
        now: Timestamp
    ) throws(PayloadError) -> Dispatch {
        let type = block.pushType(hasText: notification.hasText)
        if type == .background,
            let push = try Push.other(.background, notification, block, registration, now: now)
        {
            return Dispatch(push)
        }
        if let (push, token) = try ownPush(type, notification, block, registration, now: now) {
            return Dispatch(push, to: token) { () throws(PayloadError) in
                try .alert(notification, block, alerts, now: now)
            }
        }
        return Dispatch(try .alert(notification, block, alerts, now: now))
    }

    /// Returns a push to a separate token, or nil if only an alert is possible.
    private func ownPush(
        _ type: PushType,
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ registration: borrowing Registration,
        now: Timestamp
    ) throws(PayloadError) -> (Push, BorrowedText)? {
        let activity = type == .liveActivity ? block.liveActivity : nil
        let token =
            activity.map { DeviceTokens.liveActivity($0.event, registration) }
            ?? DeviceTokens.token(for: type, registration)
        guard type.hasOwnToken, let token, isCovered(type), isAlive(token, registration) else { return nil }
        if let activity {
            return (try .liveActivity(notification, block, activity, now: now), token)
        }
        return try Push.other(type, notification, block, registration, now: now).map { ($0, token) }
    }

    private func isCovered(_ type: PushType) -> Bool {
        if topics[type] != nil { return true }
        if !hasReportedCoverage.exchange(true, ordering: .relaxed) {
            host.log(.warning, "the credentials are not for \(type.rawValue) pushes: sending alerts instead")
        }
        return false
    }

    private func isAlive(_ token: BorrowedText, _ registration: borrowing Registration) -> Bool {
        guard let diedAt = deadTokens.value(of: token) else { return true }
        return registration.registeredAt > diedAt
    }
}

/// The values of `apns-topic` for one app.
struct Topics: Sendable {
    private var topics: [PushType: String] = [:]

    /// Makes the topics; `covers` returns whether the credentials may send a type.
    init(bundleID: String, covers: (PushType) -> Bool) {
        for type in PushType.allCases where covers(type) { topics[type] = bundleID + type.topicSuffix }
    }

    /// Returns nil for a type that must not be sent.
    subscript(type: PushType) -> String? { topics[type] }
}
