import Pipeline

extension Configuration {
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

        package init(name: String, line: Int) {
            self.name = name
            self.line = line
        }
    }
}
