import PluginKit
import Synchronization

/// Decides what goes out for a notification, and to which of a registration's tokens.
final class Dispatcher: Sendable {
    private let topics: Topics
    private let host: Host
    private let blocks = ReadTexts<NativeBlock>()
    /// When tokens were found dead that are not a device's own, in milliseconds since 1970.
    private let deadTokens = TokenMemory<Int64>()
    private let hasReportedCoverage = Atomic(false)

    init(topics: Topics, host: Host) {
        self.topics = topics
        self.host = host
    }

    /// Nil when the mode cannot be honoured.
    func dispatch(
        _ notification: borrowing Notification,
        to registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> Dispatch? {
        switch notification.mode {
        case .wake: return Dispatch(try .wake(notification, now: now))
        case .nudge: return try Push.nudge(notification, try block(of: notification), now: now).map(Dispatch.init)
        case .sealed: return try Push.sealed(notification, try block(of: notification), now: now).map(Dispatch.init)
        case .alert: return try whole(notification, try block(of: notification), to: registration, now: now)
        case nil: return nil
        }
    }

    /// What the rule says in Apple's words.
    func block(of notification: borrowing Notification) throws(PayloadMistake) -> NativeBlock {
        let native = notification.native
        return native.isEmpty ? .empty : try blocks.value(of: native, NativeBlock.init)
    }

    /// A token that is not the device's own is dead: it is not tried again, unless the device registers anew.
    func forget(_ token: TokenKey, now: Int64) {
        deadTokens.remember(now, of: token)
    }

    /// Everything, as the kind of push that the rule's block makes of it, or as an alert where the device takes no pushes of
    /// that kind.
    private func whole(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        to registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> Dispatch {
        let type = block.pushType(hasText: notification.hasText)
        if type == .background,
            let push = try Push.other(.background, notification, block, registration, now: now)
        {
            return Dispatch(push)
        }
        if let (push, token) = try ownPush(type, notification, block, registration, now: now) {
            return Dispatch(push, to: token) { () throws(PayloadMistake) in
                try .alert(notification, block, now: now)
            }
        }
        return Dispatch(try .alert(notification, block, now: now))
    }

    /// A push to a token of its own; nil when an alert has to do.
    private func ownPush(
        _ type: PushType,
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> (Push, BorrowedText)? {
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
            host.log(
                .warning,
                "the credentials are not for \(type.rawValue) pushes: devices get alerts in their place"
            )
        }
        return false
    }

    private func isAlive(_ token: BorrowedText, _ registration: borrowing Registration) -> Bool {
        guard let diedAt = deadTokens.value(of: token) else { return true }
        return registration.registeredAt > UInt64(clamping: diedAt)
    }
}
