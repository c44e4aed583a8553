/// What a device wishes beyond what its ``DeviceEntry`` says. Most wish nothing.
package struct DeviceWishes: Hashable, Sendable {
    package var pace: PaceWishes
    package var filters: FilterSwitches

    package init(pace: PaceWishes = PaceWishes(), filters: FilterSwitches = FilterSwitches()) {
        self.pace = pace
        self.filters = filters
    }

    package var isEmpty: Bool { self == DeviceWishes() }
}
