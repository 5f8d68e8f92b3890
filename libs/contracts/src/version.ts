/** Version of the interface that the documents describe (interface, "Versioning"). */
export const INTERFACE_VERSION = "1.0.0";
