public import CarillonABI
import EmailTransport
import PluginKit

// Safe despite its name: the table is built once, never changed and never freed.
private nonisolated(unsafe) let plugin = PluginDescriptor.make(
    id: "org.carillon.email",
    version: "0.1.0",
    transports: [
        TransportEntry(EmailTransport.self, shows: true) {
            TransportEntry.make(EmailTransport.self, $0, $1, $2, $3)
        }
    ]
)

@c(carillon_plugin_entry_v1) @implementation
public func carillon_plugin_entry_v1() -> UnsafePointer<carillon_plugin>? { plugin }
