/// What came of looking for the address of a delivery's device.
enum Resolution: Sendable, Equatable {
    /// It has one; `host` where attempts per host are counted.
    case found(host: String?)
    /// The device is registered no more.
    case unregistered
    /// It is on another platform or app by now, and the delivery was put into that one's queue.
    case moved
    /// The directory could not be read.
    case unavailable
    /// It has one, and no transport serves this queue.
    case noTransport
}
