import Nostr

extension QuietHours {
    /// The `quiet` object of a registration; nil when there is none.
    init?(_ registration: FieldReader, _ zones: TimeZones) throws(RegistrationRefusal) {
        guard let reader = try registration.reader("quiet") else { return nil }
        let start = try Self.time("start", reader)
        let end = try Self.time("end", reader)
        guard start != end else { throw reader.refusal("end", expected: "another time than `quiet.start`") }
        guard case .string(let text) = reader.object["tz"], let zone = QuietZone(text, in: zones) else {
            throw reader.refusal("tz", expected: QuietZone.expected)
        }
        self.init(
            start: start,
            end: end,
            zone: zone,
            letsDirectMessagesThrough: try reader.bool("dm_bypass_quiet") ?? false
        )
    }

    private static func time(_ name: String, _ reader: FieldReader) throws(RegistrationRefusal) -> TimeOfDay {
        guard case .string(let text) = reader.object[name], let time = TimeOfDay(text) else {
            throw reader.refusal(name, expected: "a time from 00:00 to 23:59")
        }
        return time
    }
}
