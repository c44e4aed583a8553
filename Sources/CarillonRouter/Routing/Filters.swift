import Nostr
import Notifications
import Pipeline
import PluginHost

/// The filters that the configuration names, each with its settings.
struct Filters: Sendable {
    /// A filter that cannot be asked.
    struct Failure: Sendable {
        let name: String
        /// The line of its block in the configuration.
        let line: Int
        let reason: String
    }

    /// In the configuration's order. One that cannot be asked is among them: it cannot decide, and `on_error` says what then.
    private(set) var all: [EventFilter] = []
    private(set) var instances: [FilterInstance] = []
    private(set) var failures: [Failure] = []

    init(configuration: Configuration, plugins: PluginHost, settings: InstanceSettings) {
        for filter in configuration.filters {
            do {
                let instance = try plugins.makeFilter(
                    filter.name,
                    configuration: filter.settings,
                    settings: settings
                )
                instances.append(instance)
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

    /// Accounts' own lists that are to be asked for.
    var lists: Set<Kind> {
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
            decide: instance.decide
        )
    }
}
