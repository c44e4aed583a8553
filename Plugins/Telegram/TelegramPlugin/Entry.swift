public import CarillonABI
import PluginKit
import TelegramTransport

// Safe despite its name: the table is built once, never changed and never freed.
private nonisolated(unsafe) let plugin = PluginDescriptor.make(
    id: "org.carillon.telegram",
    version: "0.1.0",
    transports: [
        TransportEntry(TelegramTransport.self, shows: true) {
            TransportEntry.make(TelegramTransport.self, $0, $1, $2, $3)
        }
    ]
)

@c(carillon_plugin_entry_v1) @implementation
public func carillon_plugin_entry_v1() -> UnsafePointer<carillon_plugin>? { plugin }
