/// Values by numbers that mostly follow one another and do not stay for long: a look-up is one comparison.
///
/// The last bits of a number say where its value is. A value whose place is taken goes to a dictionary, so that numbers
/// chosen with malice cost what a dictionary costs.
@frozen public struct NumberTable<Value> {
    @usableFromInline
    struct Place {
        @usableFromInline var number: UInt64
        @usableFromInline var value: Value?

        @inlinable
        init(number: UInt64, value: Value?) {
            self.number = number
            self.value = value
        }
    }

    /// As many as a power of two.
    @usableFromInline var places: [Place]
    @usableFromInline var displaced: [UInt64: Value] = [:]
    @usableFromInline var size = 0

    @inlinable static var leastPlaces: Int { 16 }
    /// Fewer places than this are never given back.
    @inlinable static var keptPlaces: Int { 1024 }

    public init() { places = Self.empty(Self.leastPlaces) }

    /// How many values there are.
    @inlinable public var count: Int { size }

    /// Whether there is no value.
    @inlinable public var isEmpty: Bool { size == 0 }

    /// The value of a number; nil: it has none.
    @inlinable public subscript(number: UInt64) -> Value? {
        let index = index(number)
        if places[index].number == number, let value = places[index].value { return value }
        return displaced.isEmpty ? nil : displaced[number]
    }

    /// Gives a number a value. False: it had one, and keeps it.
    @inlinable public mutating func insert(_ value: Value, for number: UInt64) -> Bool {
        guard displaced.isEmpty || displaced[number] == nil else { return false }
        let index = index(number)
        if places[index].value == nil {
            places[index] = Place(number: number, value: value)
        } else {
            guard places[index].number != number else { return false }
            displace(value, number)
        }
        size += 1
        return true
    }

    /// Takes the value of a number away, if there is one and `condition` holds for it.
    @inlinable public mutating func remove(_ number: UInt64, if condition: (Value) -> Bool = { _ in true }) -> Value? {
        let index = index(number)
        if places[index].number == number, let value = places[index].value.take() {
            guard condition(value) else {
                places[index].value = value
                return nil
            }
            noteRemoved()
            return value
        }
        guard !displaced.isEmpty, let value = displaced[number], condition(value) else { return nil }
        displaced[number] = nil
        noteRemoved()
        return value
    }

    /// Changes the value of a number. Nil: it has none.
    @inlinable public mutating func update<Result>(_ number: UInt64, _ body: (inout Value) -> Result) -> Result? {
        let index = index(number)
        if places[index].number == number, var value = places[index].value.take() {
            defer { places[index].value = value }
            return body(&value)
        }
        guard !displaced.isEmpty, var value = displaced[number] else { return nil }
        defer { displaced[number] = value }
        return body(&value)
    }

    /// All numbers with their values, in no order.
    public var all: [(number: UInt64, value: Value)] {
        var all: [(number: UInt64, value: Value)] = []
        all.reserveCapacity(count)
        for place in places { if let value = place.value { all.append((place.number, value)) } }
        for (number, value) in displaced { all.append((number, value)) }
        return all
    }

    @inlinable func index(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number) & (places.count - 1) }

    @inlinable mutating func noteRemoved() {
        size -= 1
        if places.count > Self.keptPlaces, count < places.count / 16 { rearrange(places.count / 4) }
    }

    /// Keeps a value whose place is taken. Many of these mean that there are too few places, unless the numbers were
    /// chosen so.
    @usableFromInline
    mutating func displace(_ value: Value, _ number: UInt64) {
        displaced[number] = value
        if displaced.count > places.count / 4, places.count < 4 * (count + 1) { rearrange(2 * places.count) }
    }

    @usableFromInline
    mutating func rearrange(_ count: Int) {
        let all = all
        places = Self.empty(count)
        displaced = [:]
        for (number, value) in all {
            let index = index(number)
            if places[index].value == nil {
                places[index] = Place(number: number, value: value)
            } else {
                displaced[number] = value
            }
        }
    }

    private static func empty(_ count: Int) -> [Place] { Array(repeating: Place(number: 0, value: nil), count: count) }
}

extension NumberTable: Sendable where Value: Sendable {}
extension NumberTable.Place: Sendable where Value: Sendable {}
