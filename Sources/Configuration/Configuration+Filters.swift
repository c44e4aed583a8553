import Pipeline

extension Configuration {
    /// A signal that a setting names, which may not exist.
    package struct NamedSignal: Sendable, Hashable {
        package let name: String
        /// The keys that lead there.
        package let path: String
        package let line: Int
        package let column: Int
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
        package var signals: [NamedSignal] = []

        package init(name: String, line: Int) {
            self.name = name
            self.line = line
        }
    }
}
