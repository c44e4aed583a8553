import Registry

extension QuietHours {
    private static let minute: Int64 = 60_000
    private static let minutesOfDay: Int64 = 1440

    /// When the quiet hours end that `moment` lies in; nil when it lies in none. Both in milliseconds since 1970.
    func end(at moment: Int64) -> Int64? {
        let minutes = moment.flooredQuotient(by: Self.minute)
        let local = (minutes + Int64(offset.minutes)).flooredRemainder(by: Self.minutesOfDay)
        let sinceStart = (local - Int64(start.minutes)).flooredRemainder(by: Self.minutesOfDay)
        let length = Int64(end.minutes - start.minutes).flooredRemainder(by: Self.minutesOfDay)
        guard sinceStart < length else { return nil }
        return (minutes + length - sinceStart) * Self.minute
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
