/// How long devices of the sealed ingress are remembered, and how many.
package struct IngressDeviceLimits: Sendable, Equatable {
    /// Devices at most; beyond it the one that was not used for the longest time is forgotten, else one that is gone.
    package var devices: Int
    /// For how long a device stays gone, in milliseconds. Then one more push is attempted: tokens come to life again, when an app
    /// is installed anew or an operator has mended a wrong environment, and nothing tells but Apple's answer.
    package var goneFor: Int64
    /// For how long a device is never forgotten after its last use, in milliseconds: something may be under way to it.
    package var keptFor: Int64
    /// How exact the time of its last use is, in milliseconds, so that not every push is a write.
    package var exactness: Int64

    package init(
        devices: Int = 1_000_000,
        goneFor: Int64 = 86_400_000,
        keptFor: Int64 = 3 * 3_600_000,
        exactness: Int64 = 3_600_000
    ) {
        self.devices = max(1, devices)
        self.goneFor = goneFor
        self.keptFor = keptFor
        self.exactness = exactness
    }
}
