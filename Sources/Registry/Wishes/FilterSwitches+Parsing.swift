import Nostr

extension FilterSwitches {
    /// The `filter_plugins` object of a registration; empty when there is none.
    init(_ registration: FieldReader) throws(RegistrationRefusal) {
        self.init()
        guard let reader = try registration.reader("filter_plugins") else { return }
        guard reader.object.members.count <= Self.limit else {
            throw registration.refusal("filter_plugins", expected: "at most \(Self.limit) filters")
        }
        for member in reader.object.members {
            guard (1...RegistrationLimits.name).contains(member.name.utf8.count),
                Alphabet.filterName.spells(member.name)
            else {
                throw registration.refusal(
                    "filter_plugins",
                    expected: "names of filters, 1 to \(RegistrationLimits.name) of \(Alphabet.filterName)"
                )
            }
            if let isOn = try reader.bool(member.name) { byName[member.name] = isOn }
        }
    }
}
