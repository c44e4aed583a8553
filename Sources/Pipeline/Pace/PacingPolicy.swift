import Registry

/// What the operator decided about pace: what devices get that wish nothing, and how far wishes are heard.
package struct PacingPolicy: Sendable, Hashable {
    /// 0: none.
    package var cooldownSeconds: Int
    /// 0: none.
    package var windowSeconds: Int
    /// Pushes a UTC day; 0: any number.
    package var dailyCap: Int
    /// A registration gets no shorter one.
    package var leastCooldownSeconds: Int
    package var leastWindowSeconds: Int
    /// A registration gets no more pushes a UTC day; 0: as many as it wishes.
    package var mostDailyCap: Int

    /// What DESIGN section 7 names.
    package init(
        cooldownSeconds: Int = 60,
        windowSeconds: Int = 30,
        dailyCap: Int = 100,
        leastCooldownSeconds: Int = 0,
        leastWindowSeconds: Int = 0,
        mostDailyCap: Int = 100
    ) {
        self.cooldownSeconds = cooldownSeconds
        self.windowSeconds = windowSeconds
        self.dailyCap = dailyCap
        self.leastCooldownSeconds = leastCooldownSeconds
        self.leastWindowSeconds = leastWindowSeconds
        self.mostDailyCap = mostDailyCap
    }

    /// What a device gets that wishes that. Bounds are for wishes; the defaults are the operator's own word.
    package func pace(for wishes: PaceWishes) -> Pace {
        let batch = wishes.batch
        let cap = batch.dailyCap.map { mostDailyCap > 0 ? min($0, mostDailyCap) : $0 } ?? dailyCap
        return Pace(
            cooldown: 1000 * Int64(batch.cooldownSeconds.map { max($0, leastCooldownSeconds) } ?? cooldownSeconds),
            window: 1000 * Int64(batch.windowSeconds.map { max($0, leastWindowSeconds) } ?? windowSeconds),
            dailyCap: cap > 0 ? cap : nil,
            quiet: wishes.quiet
        )
    }
}
