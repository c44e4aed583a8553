/// How much of an event the push service may see.
public enum Mode: Sendable {
    /// That something happened: signal and count.
    case wake
    /// A neutral visible text, without sender or content.
    case nudge
    /// Everything, encrypted to the device.
    case sealed
    /// Everything, readable.
    case alert
}
