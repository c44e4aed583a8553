import Registry

extension QuietHours {
    private static let minute: Int64 = 60_000
    private static let minutesOfDay: Int64 = 1440

    /// When the quiet hours end that `moment` lies in; nil when it lies in none. Both in milliseconds since 1970.
    ///
    /// It is quiet whenever the clock there shows a time between start and end. So a night in which clocks change is an
    /// hour shorter or longer, and an end that the clock leaps over is where it leaps.
    func end(at moment: Int64) -> Int64? {
        let minutes = moment.flooredQuotient(by: Self.minute)
        guard let left = minutesLeft(at: minutes) else { return nil }
        let change = nextChange(after: minutes, before: minutes + left)
        guard let change else { return (minutes + left) * Self.minute }
        guard let leftThen = minutesLeft(at: change) else { return change * Self.minute }
        return (change + leftThen) * Self.minute
    }

    /// How many minutes of quiet are left by the clock; nil for none. `minute` is since 1970.
    private func minutesLeft(at minute: Int64) -> Int64? {
        let local = (minute + ahead(at: minute)).flooredRemainder(by: Self.minutesOfDay)
        let sinceStart = (local - Int64(start.minutes)).flooredRemainder(by: Self.minutesOfDay)
        let length = Int64(end.minutes - start.minutes).flooredRemainder(by: Self.minutesOfDay)
        return sinceStart < length ? length - sinceStart : nil
    }

    private func ahead(at minute: Int64) -> Int64 { Int64(zone.minutesAhead(at: minute * Self.minute)) }

    /// The first minute after `first` and before `last` at which the clock shows another time than expected; nil for
    /// none. Clocks change once a day at most.
    private func nextChange(after first: Int64, before last: Int64) -> Int64? {
        guard case .named = zone else { return nil }
        let before = ahead(at: first)
        var (low, high) = (first, last - 1)
        guard ahead(at: high) != before else { return nil }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if ahead(at: middle) == before { low = middle } else { high = middle }
        }
        return high
    }
}

extension Int64 {
    /// Rounded down, also below zero; `divisor` is above zero.
    func flooredQuotient(by divisor: Int64) -> Int64 { (self - flooredRemainder(by: divisor)) / divisor }

    /// From 0 to `divisor`, which is above zero and not reached.
    func flooredRemainder(by divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
