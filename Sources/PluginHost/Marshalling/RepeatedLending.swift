import CarillonABI
import Notifications
import Synchronization

/// Lends notifications to a plugin. An event for many devices is one notification that comes again and again, under
/// another id each time: its texts are copied once, and lent to each delivery.
///
/// They are copied to stay when two in a row are copies of one notification. Most never come again.
final class RepeatedLending: Sendable {
    private struct State {
        /// Held, as long as its identity is compared with.
        var last: Notification?
        var lent: LentNotification?
    }

    private let state = Mutex(State())

    /// Lends `notification` and where it goes for the time of `body`.
    func lend<Result>(
        _ notification: Notification,
        id: DeliveryID,
        to address: DeviceAddress,
        _ body: (UnsafePointer<carillon_registration>, UnsafePointer<carillon_notification>) -> Result
    ) -> Result {
        let lent = state.withLock { state -> LentNotification? in
            guard state.last?.identity == notification.identity else {
                state = State(last: notification)
                return nil
            }
            if let lent = state.lent, lent.platform == address.platform { return lent }
            state.lent = LentNotification(notification, platform: address.platform)
            return state.lent
        }
        guard let lent else { return notification.lend(id: id, to: address, body) }
        return lent.lend(id: id, to: address, body)
    }
}

/// A notification as the ABI says it, without an id, for as long as somebody holds this.
///
/// Unchecked: the memory never changes once it is filled.
private final class LentNotification: @unchecked Sendable {
    /// Whose native block it has.
    let platform: String
    private let block: UnsafeMutableRawBufferPointer
    private let notification: carillon_notification

    init(_ notification: Notification, platform: String) {
        self.platform = platform
        let form = notification.form
        let native = form.native[platform] ?? ""
        let (structBytes, textBytes) = (form.lentStructBytes, form.lentTextBytes + native.utf8.count)
        block = .allocate(byteCount: structBytes + textBytes, alignment: 8)
        var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
        self.notification = form.lent(id: nil, native: native, in: &memory)
    }

    deinit { block.deallocate() }

    func lend<Result>(
        id: DeliveryID,
        to address: DeviceAddress,
        _ body: (UnsafePointer<carillon_registration>, UnsafePointer<carillon_notification>) -> Result
    ) -> Result {
        let (structBytes, textBytes) = (address.lentStructBytes, address.lentTextBytes + DeliveryID.textLength)
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { room in
            var memory = LentMemory(room, structBytes: structBytes, textBytes: textBytes)
            let registration = address.registration(in: &memory)
            var notification = notification
            notification.id = memory.text(id)
            return withExtendedLifetime(self) {
                withUnsafePointer(to: registration) { registration in
                    withUnsafePointer(to: notification) { body(registration, $0) }
                }
            }
        }
    }
}
