import CarillonABI
import Foundation
import Notifications
import Synchronization

/// What a filter says within one call: why it drops, and what it would have otherwise in the notification. Pure.
package struct FilterEdit: Sendable {
    package static let reasonLimit = 60
    private static let textLimit = 65_536

    /// How much may be changed of what is rendered.
    private enum Freedom {
        case none
        case urgency
        case texts
    }

    private static let texts:
        [(name: StaticString, text: any WritableKeyPath<Notifications.Notification, String> & Sendable)] = [
            ("title", \.title), ("subtitle", \.subtitle), ("body", \.body), ("category", \.category),
            ("thread", \.thread),
            ("collapse_key", \.collapseKey), ("url", \.url), ("data", \.data),
        ]

    private(set) var reason = ""
    private(set) var notification: Notifications.Notification?
    private let freedom: Freedom

    /// `notification` is what was rendered; nil: nothing is yet.
    package init(_ notification: Notifications.Notification?) {
        self.notification = notification
        switch notification?.mode {
        case nil: freedom = .none
        case .wake, .nudge: freedom = .urgency
        case .sealed, .alert: freedom = .texts
        }
    }

    /// The body of `carillon_filter_call.set`.
    package mutating func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let name = PluginText.bytes(field, limit: 64) else { return .CARILLON_INVALID }
        func isCalled(_ word: StaticString) -> Bool {
            name.elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        }
        if isCalled("reason") { return setReason(value) }
        if isCalled("urgency"), freedom != .none { return setUrgency(value) }
        guard freedom == .texts, let text = Self.texts.first(where: { isCalled($0.name) })?.text else {
            return .CARILLON_UNSUPPORTED
        }
        guard let new = PluginText.string(value, limit: Self.textLimit) else { return .CARILLON_INVALID }
        guard text != \Notifications.Notification.data || new.isEmpty || Self.isObject(new) else {
            return .CARILLON_INVALID
        }
        notification?[keyPath: text] = new
        return .CARILLON_OK
    }

    private mutating func setReason(_ value: carillon_bytes) -> carillon_status {
        guard let text = PluginText.string(value, limit: Self.reasonLimit),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else { return .CARILLON_INVALID }
        reason = text
        return .CARILLON_OK
    }

    private mutating func setUrgency(_ value: carillon_bytes) -> carillon_status {
        guard let word = PluginText.string(value, limit: 16),
            let urgency = Urgency.allCases.first(where: { $0.name == word })
        else { return .CARILLON_INVALID }
        notification?.urgency = urgency
        return .CARILLON_OK
    }

    private static func isObject(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    }
}

/// What a filter sets in the calls that are inside it, by numbers that it knows them by.
final class OpenEdits: Sendable {
    private struct State {
        var edits: [UInt64: FilterEdit] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The number of a new call.
    func open(_ notification: Notifications.Notification?) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.edits[state.last] = FilterEdit(notification)
            return state.last
        }
    }

    /// The filter sets a field; nil: the call has returned.
    func set(_ field: carillon_str, _ value: carillon_bytes, in number: UInt64) -> carillon_status? {
        state.withLock { $0.edits[number]?.set(field, value) }
    }

    /// The call has returned.
    func close(_ number: UInt64) -> FilterEdit {
        state.withLock { $0.edits.removeValue(forKey: number) } ?? FilterEdit(nil)
    }
}
