/// How a device wants its pushes gathered (seed 004 sections 4 and 7); nil is the operator's default, 0 switches it
/// off.
package struct BatchWishes: Hashable, Sendable {
    /// From 0 to 86,400.
    package var windowSeconds: Int?
    /// From 0 to 86,400.
    package var cooldownSeconds: Int?

    package init(windowSeconds: Int? = nil, cooldownSeconds: Int? = nil) {
        self.windowSeconds = windowSeconds
        self.cooldownSeconds = cooldownSeconds
    }
}
