/// How a device wants its pushes gathered (seed 004 sections 4 and 7); nil is the operator's default.
package struct BatchWishes: Hashable, Sendable {
    // A million devices may have such wishes.
    private var window: Int32 = -1
    private var cooldown: Int32 = -1
    private var cap: Int32 = -1

    package init(windowSeconds: Int? = nil, cooldownSeconds: Int? = nil, dailyCap: Int? = nil) {
        self.windowSeconds = windowSeconds
        self.cooldownSeconds = cooldownSeconds
        self.dailyCap = dailyCap
    }

    /// From 0, which switches it off, to 86,400.
    package var windowSeconds: Int? {
        get { Self.number(window) }
        set { window = Self.stored(newValue) }
    }

    /// From 0, which switches it off, to 86,400.
    package var cooldownSeconds: Int? {
        get { Self.number(cooldown) }
        set { cooldown = Self.stored(newValue) }
    }

    /// How many pushes a UTC day at most, from 1 to 1,000,000.
    package var dailyCap: Int? {
        get { Self.number(cap) }
        set { cap = Self.stored(newValue) }
    }

    private static func number(_ stored: Int32) -> Int? { stored < 0 ? nil : Int(stored) }

    private static func stored(_ number: Int?) -> Int32 { number.map { Int32(clamping: max(0, $0)) } ?? -1 }
}
