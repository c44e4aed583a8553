/// Who was pushed to, as far as it decides what an answer means.
struct Recipient: Sendable {
    /// Which of the device's tokens was used.
    var pushType: PushType
    /// Whether it is at the servers where the app's devices are unless they say otherwise.
    var isAtMainOrigin: Bool
    /// Whether Apple ever took a push for the app's own topic there: then it is neither the wrong topic nor the wrong server.
    var isPlaceProven: Bool
    /// When the device was last registered, in milliseconds since 1970, or 0.
    var registeredAt: UInt64
}
