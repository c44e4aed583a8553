import Pipeline

extension Configuration {
    /// A signal that a setting names, which may not exist.
    struct NamedSignal: Sendable, Hashable {
        let name: String
        /// The keys that lead there.
        let path: String
        let line: Int
        let column: Int
    }

    /// A filter of a plugin, and whom it is asked for.
    package struct Filter: Sendable {
        /// As its plugin calls it.
        package var name: String
        package var availability = FilterAvailability.maySwitchOff
        package var onError = EventFilter.OnError.pass
        /// A JSON object, which belongs to the plugin.
        package var settings = "{}"
        /// Where the block stands in the file, for mistakes that only the plugin finds.
        package var line: Int
        /// The signals that the settings name, as far as we know which of them do.
        var signals: [NamedSignal] = []

        package init(name: String, line: Int) {
            self.name = name
            self.line = line
        }
    }
}
