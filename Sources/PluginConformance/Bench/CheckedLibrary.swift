import Dispatch
import PluginHost

/// What is checked: a shared object in this process, or a plugin in Python in one of its own.
enum CheckedLibrary: Sendable {
    case library(PluginLibrary)
    case python(PythonPlugin)

    /// Runs what the header marks `[setup]`.
    var setup: DispatchQueue {
        switch self {
        case .library(let library): library.setup
        case .python(let plugin): plugin.setup
        }
    }

    /// A parcel with no more elements than the router ever sends to a process: the rest would only end it.
    func bounded(_ parcel: Parcel) -> Parcel {
        guard case .python = self else { return parcel }
        return parcel.with {
            $0.fields = Array($0.fields.prefix(256))
            $0.buttons = Array($0.buttons.prefix(64))
        }
    }

    /// The traceback of the first exception since the last call, where exceptions are noticed.
    func takeTraceback() -> String? {
        switch self {
        case .library: nil
        case .python(let plugin): plugin.takeTraceback()
        }
    }

    /// How often the plugin's own process has died, and the last time why; a shared object takes this process along.
    var deaths: (count: Int, last: String?) {
        switch self {
        case .library: (0, nil)
        case .python(let plugin): plugin.deaths
        }
    }
}
