/// When clocks change in any year, as the footer of a TZif file says: the TZ variable of POSIX, with the hours beyond a
/// day that RFC 9636 section 3.3.1 allows. All times are in seconds.
struct YearlyZoneRule: Sendable {
    private struct Summer: Sendable {
        let ahead: Int
        /// On the clock of standard time.
        let start: YearlyChange
        /// On the clock of summer time.
        let end: YearlyChange
    }

    private let ahead: Int
    private let summer: Summer?

    /// Nil unless `text` is one, as in `CET-1CEST,M3.5.0,M10.5.0/3`.
    init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        var names = Scanner(parts[0])
        guard names.skipName(), let west = names.time(hours: 24) else { return nil }
        ahead = -west
        if names.isAtEnd {
            guard parts.count == 1 else { return nil }
            summer = nil
            return
        }
        guard names.skipName() else { return nil }
        let summerAhead: Int? = names.isAtEnd ? ahead + 3600 : names.time(hours: 24).map { -$0 }
        guard let summerAhead, names.isAtEnd, parts.count == 3, let start = YearlyChange(parts[1]),
            let end = YearlyChange(parts[2])
        else { return nil }
        summer = Summer(ahead: summerAhead, start: start, end: end)
    }

    /// How far clocks are ahead of UTC at `time`, since 1970.
    func secondsAhead(at time: Int64) -> Int {
        guard let summer else { return ahead }
        let year = CivilDay(since1970: (time + Int64(ahead)).flooredQuotient(86_400)).year
        let start = summer.start.time(in: year) - Int64(ahead)
        let end = summer.end.time(in: year) - Int64(summer.ahead)
        // South of the equator summer begins in one year and ends in the next.
        let isSummer = start < end ? (start..<end).contains(time) : !(end..<start).contains(time)
        return isSummer ? summer.ahead : ahead
    }

    /// A moment that comes once a year.
    private struct YearlyChange: Sendable {
        private enum Day: Sendable {
            /// From 1 to 365; the 29th of February is never counted.
            case julian(Int)
            /// From 0 to 365.
            case ofYear(Int)
            /// The week is the last one if it is 5, weekdays begin with Sunday.
            case ofMonth(Int, week: Int, weekday: Int)
        }

        private let day: Day
        private let clock: Int

        init?(_ text: Substring) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { return nil }
            var scanner = Scanner(parts[0])
            if scanner.skip("M") {
                guard let month = scanner.number(1...12), scanner.skip("."), let week = scanner.number(1...5),
                    scanner.skip("."), let weekday = scanner.number(0...6)
                else { return nil }
                day = .ofMonth(month, week: week, weekday: weekday)
            } else if scanner.skip("J") {
                guard let number = scanner.number(1...365) else { return nil }
                day = .julian(number)
            } else {
                guard let number = scanner.number(0...365) else { return nil }
                day = .ofYear(number)
            }
            guard scanner.isAtEnd else { return nil }
            guard parts.count == 2 else {
                clock = 7200
                return
            }
            var time = Scanner(parts[1])
            guard let clock = time.time(hours: 167), time.isAtEnd else { return nil }
            self.clock = clock
        }

        /// On the clock there, since 1970.
        func time(in year: Int64) -> Int64 {
            let first = CivilDay(year: year, month: 1, day: 1).since1970
            let days: Int64
            switch day {
            case .julian(let number):
                days = first + Int64(number) - (CivilDay.isLeap(year) && number > 59 ? 0 : 1)
            case .ofYear(let number):
                days = first + Int64(number)
            case .ofMonth(let month, let week, let weekday):
                let begin = CivilDay(year: year, month: Int64(month), day: 1).since1970
                let next = CivilDay(year: month == 12 ? year + 1 : year, month: Int64(month % 12 + 1), day: 1).since1970
                // The first of January 1970 was a Thursday.
                let shift = (Int64(weekday) - 4 - begin).flooredRemainder(7)
                let wanted = begin + shift + Int64(week - 1) * 7
                days = wanted < next ? wanted : wanted - 7
            }
            return days * 86_400 + Int64(clock)
        }
    }

    private struct Scanner {
        private var rest: Substring

        init(_ text: Substring) { rest = text }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skip(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest.removeFirst()
            return true
        }

        /// Letters, or anything between angle brackets.
        mutating func skipName() -> Bool {
            if skip("<") {
                guard let end = rest.firstIndex(of: ">") else { return false }
                rest = rest[rest.index(after: end)...]
                return true
            }
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count)
            return name.count >= 3
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            guard (1...3).contains(digits.count), let number = Int(digits), range.contains(number) else { return nil }
            rest = rest.dropFirst(digits.count)
            return number
        }

        /// Hours, minutes and seconds, perhaps with a sign, as a number of seconds.
        mutating func time(hours limit: Int) -> Int? {
            let isNegative = skip("-")
            if !isNegative { _ = skip("+") }
            guard let hours = number(0...limit) else { return nil }
            var seconds = hours * 3600
            for unit in [60, 1] where skip(":") {
                guard let part = number(0...59) else { return nil }
                seconds += part * unit
            }
            return isNegative ? -seconds : seconds
        }
    }
}

/// A day in the Gregorian calendar, which is thought to have been always in force.
private struct CivilDay {
    let since1970: Int64
    let year: Int64

    init(year: Int64, month: Int64, day: Int64) {
        // Years begin in March here, so that a leap day is the last of its year.
        let shifted = month <= 2 ? year - 1 : year
        let days = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let leaps = shifted.flooredQuotient(4) - shifted.flooredQuotient(100) + shifted.flooredQuotient(400)
        since1970 = shifted * 365 + leaps + days - 719_468
        self.year = year
    }

    init(since1970 days: Int64) {
        since1970 = days
        // Four hundred years have 146,097 days.
        var year = 1969 + (days * 400).flooredQuotient(146_097)
        while CivilDay(year: year + 1, month: 1, day: 1).since1970 <= days { year += 1 }
        self.year = year
    }

    static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
}

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 { (self - flooredRemainder(divisor)) / divisor }

    fileprivate func flooredRemainder(_ divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
