import Nostr
import Notifications
import Pipeline
import PluginHost
import RouterConfiguration

/// The filters that the configuration names, each with its settings.
package struct Filters: Sendable {
    /// A filter that cannot be asked.
    package struct Failure: Sendable {
        package let name: String
        /// The line of its block in the configuration.
        package let line: Int
        package let reason: String
    }

    /// In the configuration's order. One that cannot be asked is among them: it cannot decide, and `on_error` says what
    /// then.
    package private(set) var all: [EventFilter] = []
    package private(set) var failures: [Failure] = []
    private var instances: [String: FilterInstance] = [:]
    /// What each was made of.
    private var fingerprints: [String: BlockFingerprint] = [:]

    /// Makes an instance for each block; where `former` has one of the same block and the same files, that one stays,
    /// and with it what it remembers of threads and senders.
    package init(
        configuration: Configuration,
        plugins: PluginHost,
        settings: InstanceSettings,
        former: Filters? = nil
    ) {
        for filter in configuration.filters {
            let fingerprint = BlockFingerprint(of: filter.settings)
            fingerprints[filter.name] = fingerprint
            do {
                let kept = former?.fingerprints[filter.name] == fingerprint ? former?.instances[filter.name] : nil
                let instance =
                    try kept ?? plugins.makeFilter(filter.name, configuration: filter.settings, settings: settings)
                instances[filter.name] = instance
                all.append(EventFilter(filter, asking: instance))
            } catch {
                failures.append(Failure(name: filter.name, line: filter.line, reason: "\(error)"))
                all.append(
                    EventFilter(name: filter.name, availability: filter.availability, onError: filter.onError) { _ in
                        .failed(reason: "it could not start")
                    }
                )
            }
        }
    }

    /// Those that `others` do not ask.
    package func instances(without others: Filters) -> [FilterInstance] {
        instances.filter { name, instance in others.instances[name] !== instance }.map(\.value)
    }

    /// Accounts' own lists that are to be asked for.
    package var lists: Set<Kind> {
        let wanted = Set(all.flatMap(\.wantedKinds))
        return all.contains { $0.need > .nothing } ? wanted.union([.contactList]) : wanted
    }
}

extension EventFilter {
    fileprivate init(_ filter: Configuration.Filter, asking instance: FilterInstance) {
        self.init(
            name: filter.name,
            availability: filter.availability,
            onError: filter.onError,
            wantedKinds: instance.wantedKinds.map { Kind($0) },
            need: instance.need,
            isAskedAfterRendering: instance.isAskedAfterRendering,
            decideTogether: instance.decide
        )
    }
}
